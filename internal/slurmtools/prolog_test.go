package slurmtools

import (
	"strings"
	"testing"
)

// TestProgramsAroundTasks: what srun 22.05.8 does of prologs and epilogs.
func TestProgramsAroundTasks(t *testing.T) {
	code, out := script(t, `here=$PWD; export DROP=1
cat >pro <<'END'
#!/bin/sh
echo "export A=with space=and eq"
echo "print   of $SLURM_PROCID"
echo "unset DROP"
echo ignored
echo unseen >&2
exit ${PROLOG_EXIT:-0}
END
cat >epi <<'END'
#!/bin/sh
echo "unseen"
echo "epilog $SLURM_PROCID $SLURM_SCRIPT_CONTEXT" >&2
exit ${EPILOG_EXIT:-0}
END
cat >side <<'END'
#!/bin/sh
echo "side $SLURM_SCRIPT_CONTEXT"
END
chmod +x pro epi side
srun -n2 --task-prolog=$here/pro --task-epilog=$here/epi sh -c 'echo "task $SLURM_PROCID [$A] [$DROP]"; exit 3'; echo code $?
EPILOG_EXIT=5 srun -n1 --task-epilog=$here/epi true; echo "epilog code $?"
PROLOG_EXIT=7 srun -n1 --task-prolog=$here/pro echo never ran; echo "prolog code $?"
srun -n1 --task-prolog=pro echo never ran; echo "relative $?"
srun -n1 --task-prolog=$here/none echo never ran; echo "missing $?"
srun -n1 --task-epilog=$here/none echo ran; echo "no epilog $?"
SLURM_TASK_PROLOG=$here/pro srun -n1 sh -c 'echo "by variable [$A]"'
srun -n1 --prolog=$here/side --epilog=$here/side echo between
srun -n1 --prolog=$here/none echo on; echo "side $?"
export SLURM_JOB_NAME=job; srun -n1 sh -c 'echo "named $SLURM_JOB_NAME"'; srun -n1 -J step sh -c 'echo "named $SLURM_JOB_NAME"'`)
	for _, want := range []string{
		"of 0\n", "of 1\n", "task 0 [with space=and eq] []\n", "task 1 [with space=and eq] []\n", "epilog 0 epilog_task\n", "epilog 1 epilog_task\n", "\ncode 3\n",
		"TaskEpilog failed status=1280\nepilog code 0\n", "--task-prolog failed status=7\n", "prolog code 7\n",
		"user task_prolog is not fully qualified pathname (pro)\n", "relative 1\n", "user task_prolog can not be executed (", ") No such file or directory\n", "missing 1\n",
		"ran\n", "Could not run user task_epilog [", "TaskEpilog failed status=-1\nno epilog 0\n", "by variable [with space=and eq]\n",
		"side prolog_srun\nbetween\nside epilog_srun\n", "srun: Access denied for ", "on\nside 0\n", "named job\n", "named step\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q (code %d)", want, out, code)
		}
	}
	for _, never := range []string{"unseen", "ignored", "never ran"} {
		if strings.Contains(out, never) {
			t.Errorf("%q in %q", never, out)
		}
	}
}
