"""Pictures inside a message: data URLs to pixels."""

from __future__ import annotations

import base64
import io
import warnings

from quintain.serve.fields import Fields
from quintain.types import Image

PIXELS = 1 << 24  # of one picture


def picture_of(url: str, item: Fields) -> Image:
    """The picture of a data URL; nothing is fetched.

    Raises:
        Refusal: another URL, or no picture that can be read.
    """
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise item.refuse("url", "must be a data URL of a picture (data:image/png;base64,...); nothing is fetched")
    import numpy as np
    from PIL import Image as Pillow

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with Pillow.open(io.BytesIO(base64.b64decode(data, validate=True))) as picture:
                width, height = picture.size
                if width * height > PIXELS:
                    raise item.refuse("url", f"is a picture of {width} x {height}; at most {PIXELS} pixels")
                return Image(pixels=np.asarray(picture.convert("RGB"), np.uint8))
    except (ValueError, OSError, SyntaxError, Warning, Pillow.DecompressionBombError) as error:
        raise item.refuse("url", f"is not a picture: {error}"[:200]) from None
