"""Makes the modules beside it importable by every folder of tests."""

import signal

# A shell starts what runs in its background with Ctrl-C ignored, and that is inherited: the
# commands which tests interrupt would never notice.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
