package slurm

import (
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/records"
)

// Sacctmgr is sacctmgr.
func Sacctmgr() *compat.Command { return records.Sacctmgr(&words, versionFlag) }
