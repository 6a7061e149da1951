"""Muster's own client: submit, wait, explain."""

import muster

client = muster.Client()
plan = client.submit({"command": "true", "resources": {"cpu": 1}}, dry_run=True).plan
assert plan is not None
print("it fits" if plan["fits"] else plan)

workload = client.run(
    ["python3", "-c", "import muster\nfor i in range(5): muster.report(step=i + 1, total=5, loss=1 / (i + 1))"],
    namePrefix="train",
)
workload.wait(timeout=120, progress=True)
assert workload.progress is not None
print(workload.phase, workload.progress["step"], workload.progress["metrics"])

broken = client.run("python3 -c 'raise SystemError(\"disk\")'", namePrefix="broken").wait(timeout=120)
error = broken.first_error()
assert error is not None
print(error["kind"], "|", error["title"], "|", error["hint"])
try:
    broken.stop()
except muster.IllegalPhaseError as e:
    print(e.code, "|", e.hint)
