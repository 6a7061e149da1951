package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/runai"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/testing/vary"
)

// values are what people write behind options: right for some, wrong for most.
var values = []string{
	"", "0", "1", "2", "3-4", "1,3", "1-7:2", "0-15%4", "x", "-1", "1.5", "0.25", "10G", "512mb", "4096", "1Ti", "01:30:00", "2-12", "90", "5m", "infinite", "yes", "no", "true", "false",
	"a=b", "a=1,b=2", "a:b", "a:b:ro", "gpu:2", "gpu:a100:2", "gpu:a100:1,license:3", "name=x,path=/y,mount=/z", "afterok:1234", "singleton", "ALL", "NONE", "END,FAIL", "8080:80", "80",
	"a100", "a|b", "[a*2&b]", "node[01-03]", "/tmp/%x-%j.out", "USR1@60", "B:15", "none", "spot", "high", "100",
}

// scripts are what an option stands in.
var scripts = []string{
	"#!/bin/bash\n#SBATCH --OPTION\n\nsrun hostname\n",
	"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4\n#SBATCH --gres=gpu:4\n#SBATCH --OPTION\nsrun python train.py\n",
	"#!/bin/bash\n#SBATCH --array=1-10\n#SBATCH -c 4\n#SBATCH --OPTION\necho $SLURM_ARRAY_TASK_ID\n",
}

func saying(out *strings.Builder, what string, read func() (*source.Result, error)) {
	r, err := read()
	fmt.Fprintf(out, "%s: %v\n", what, err)
	if r != nil {
		out.Write(report(r))
	}
}

// TestOptionsOfSlurmStay: what each option of sbatch becomes with all sorts of values.
func TestOptionsOfSlurmStay(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, name := range append(slurm.Options(), "no-such-option", "nod", "arra") {
		var out strings.Builder
		for _, s := range scripts {
			for _, v := range values {
				option := name
				if v != "" {
					option += "=" + v
				}
				saying(&out, v, func() (*source.Result, error) {
					return convert.ImportAs(source.Sbatch, []byte(strings.Replace(s, "OPTION", option, 1)))
				})
				saying(&out, v+" given", func() (*source.Result, error) {
					return slurm.Import([]byte(strings.Replace(s, "#SBATCH --OPTION\n", "", 1)), slurm.Submission{Options: []string{"--" + option}, Args: []string{"a b", "c"}})
				})
			}
		}
		said[name] = out.String()
	}
	vary.Stay(t, "testdata/options_slurm.txt", *update, said)
}

// TestFlagsOfRunaiStay: what each flag of runai becomes with all sorts of values.
func TestFlagsOfRunaiStay(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, name := range append(runai.Flags(), "no-such-flag", "gpus") {
		var out strings.Builder
		for _, verb := range []string{"submit", "submit-dist pytorch --workers 2", "workspace submit", "inference submit"} {
			for _, v := range values {
				saying(&out, v, func() (*source.Result, error) {
					return runai.Import(append(strings.Fields(verb), "job", "-i", "busybox", "-g", "1", "--"+name+"="+v, "--", "sleep", "1"))
				})
			}
		}
		said[name] = out.String()
	}
	vary.Stay(t, "testdata/flags_runai.txt", *update, said)
}
