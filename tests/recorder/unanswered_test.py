"""A launcher that neither reads nor answers costs a minute, once."""
import time

import recorded
from recorded import RecorderCase


class Unanswered(RecorderCase):
    def test_the_process_goes_on(self):
        toy = self.toy()
        begin = time.monotonic()
        # More connections than the kernel keeps for a reader who does not come.
        self.do("alarms", "open", toy, "close", "loop", 6000, toy, answer="deaf", timeout=100)
        took = time.monotonic() - begin
        self.assertGreater(took, 55)
        self.assertLess(took, 80)


if __name__ == "__main__":
    recorded.main()
