"""KeyDoor 5x5, the quick start, over seeds 0-4."""

from _quickstart import Target, measure

if __name__ == "__main__":
    measure("keydoor", range(5), Target(low=0.35, high=0.85, worst=0.80, gain=0.25, seconds=180))
