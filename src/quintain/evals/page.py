"""The frame and style of the report page."""

STYLE = """
:root{--bg:#fbfbf9;--card:#fff;--ink:#1d2430;--soft:#667085;--line:#e4e4de;
--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#cc79a7;--c5:#e69f00;--c6:#56b4e9}
@media(prefers-color-scheme:dark){:root{--bg:#14171c;--card:#1c2027;--ink:#e6e8ec;--soft:#98a2b3;--line:#2d333d;
--c1:#56b4e9;--c2:#ff9a4d;--c3:#3ccf9f;--c4:#e39cc4;--c5:#f2c14e;--c6:#8ecae6}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 80px}h1{font-size:26px;margin:0 0 4px}
h2{font-size:18px;margin:40px 0 12px}p.sub{color:var(--soft);margin:0 0 20px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:12px 14px}.tile b{display:block;font-size:20px;font-weight:650;white-space:nowrap}.tile span{color:var(--soft);font-size:13px}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(400px,100%),1fr));gap:14px}
.chart{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px}
.chart svg{width:100%;height:auto;display:block}.chart figcaption{font-weight:600;margin:0 0 6px 4px}
.grid{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}.keys{display:flex;gap:14px;flex-wrap:wrap;font-size:13px;
color:var(--soft);padding:4px 6px 0}.keys i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:5px}
details{background:var(--card);border:1px solid var(--line);border-radius:10px;margin:0 0 10px;padding:10px 14px}
summary{cursor:pointer;font-weight:600}summary small{font-weight:400;color:var(--soft)}
.turns{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:12px;margin-top:12px}
.turn{border:1px solid var(--line);border-radius:8px;padding:8px}.turn img{width:100%;border-radius:6px;display:block;
image-rendering:auto;margin-bottom:6px}.turn pre,pre.box{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;
font:12px/1.45 ui-monospace,monospace;color:var(--soft)}.tok{border-radius:4px;padding:1px 4px;font:600 13px ui-monospace,monospace;
color:#14171c}.said{margin:6px 0 2px}.said small{color:var(--soft)}
pre.box{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px;color:var(--ink)}
.found{display:block;width:fit-content;max-width:100%;overflow-x:auto;
border-collapse:collapse;background:var(--card);border:1px solid var(--line);border-radius:10px}
.found th,.found td{text-align:left;vertical-align:top;padding:8px 14px;border-top:1px solid var(--line)}
.found th{white-space:nowrap}.found tr:first-child>*{border-top:0}
.chain{display:flex;flex-wrap:wrap;gap:8px;align-items:center}.link{background:var(--card);border:1px solid var(--line);
border-left:4px solid var(--c1);border-radius:8px;padding:6px 12px;font:13px ui-monospace,monospace}.arrow{color:var(--soft)}
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{style}</style></head><body><main>
<h1>{title}</h1><p class="sub">{sub}</p>
<div class="tiles">{tiles}</div>
<h2>Curves</h2><p class="sub">Lines are running means over a fifteenth of the steps; bands are one standard deviation of
single steps around them; dots are evaluations.</p><div class="charts">{charts}</div>
<h2>Diagnostics</h2>{findings}
<h2>The algorithm</h2>{chain}
<h2>Sample trajectories</h2>{samples}
<h2>Reproduce</h2><pre class="box">{command}</pre>
<h2>Configuration</h2><pre class="box">{config}</pre>
</main></body></html>
"""
