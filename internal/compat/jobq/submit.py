import sys

mode, path = sys.argv[1], sys.argv[2]
try:
    import jobq
except ImportError:
    sys.exit("error: Python has no package jobq\nfix: pip install muster; it has jobq's decorator and submits what it marks")
jobs = jobq.discover(path)
if not jobs:
    sys.exit("error: %s has no function that is marked with @job\nfix: from jobq import job, and @job(...) above the function" % path)
for job in jobs:
    done = job.submit(mode)
    if mode != "local":
        print(getattr(done, "id", done))
