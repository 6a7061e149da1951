package terms

import (
	"slices"

	"github.com/musterhq/muster/internal/core/spec"
)

// The scripts that srun makes of a command outside of a job: for one process, for
// several, and for several whose lines are labelled; and those of salloc. Slurm has
// no script then.
const (
	DirectOne      = "#!/bin/sh\nexec \"$@\"\n"
	DirectSeveral  = "#!/bin/sh\nexec srun \"$@\"\n"
	DirectLabel    = "#!/bin/sh\nexec srun --label \"$@\"\n"
	AllocatedOne   = "#!/bin/sh\n# salloc\nexec \"$@\"\n"
	AllocatedShell = "#!/bin/sh\n# salloc\nexec \"${SHELL:-/bin/sh}\"\n"
)

// Direct reports whether a job is a command of srun or of salloc, and whether it is
// one of srun that is itself its only step: no srun in it starts one.
func Direct(d *spec.Document) (is, alone bool) {
	argv := d.Command.Argv
	if len(argv) < 3 {
		return false, false
	}
	alone = argv[2] == DirectOne
	return alone || slices.Contains([]string{DirectSeveral, DirectLabel, AllocatedOne, AllocatedShell}, argv[2]), alone
}
