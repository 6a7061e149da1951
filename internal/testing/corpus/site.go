package main

import (
	"fmt"
	"os/exec"
	"os/user"
	"regexp"
	"strings"
)

// Words of a site of its own, in lines of options: what is there on both sides
// takes their place, and what nobody has is left out.
var (
	siteValue = []struct {
		option *regexp.Regexp
		as     string // with $1 the option
	}{
		{regexp.MustCompile(`(^|\s)(--partition[= ]|-p\s*)[^\s#]+`), "${1}${2}all"},
		{regexp.MustCompile(`(^|\s)(--qos[= ]|-q\s*)[^\s#]+`), "${1}${2}normal"},
		{regexp.MustCompile(`(^|\s)(--account[= ]|-A\s*)[^\s#]+`), "${1}${2}default"},
		{regexp.MustCompile(`(^|\s)(?:--(?:constraint|prefer|reservation|licenses|nodelist|exclude|clusters?|wckey|nodefile|switches)[= ]|-[CLwxMF]\s*)("[^"]*"|[^\s#]+)`), ""},
		{regexp.MustCompile(`(^|\s)(?:--dependency[= ]|-d\s*)[a-z]+:\d\S*`), ""}, // on jobs that were there
		{regexp.MustCompile(`((?:--gres|--gpus(?:-per-[a-z]+)?)[= ]"?|-G\s*)(gpu:)?[A-Za-z][\w.-]*:(\d)`), "${1}${2}${3}"},
		{regexp.MustCompile(`(--gres[= ]"?gpu):[A-Za-z][\w.-]*(\s|$)`), "${1}${2}"},
	}
	chance    = regexp.MustCompile(`\$(RANDOM\b|\{RANDOM\})`) // no two runs have the same
	otherGres = regexp.MustCompile(`(^|\s)--gres[= ]"?(\S+)`)
)

// siteless is a script with the words of its site replaced.
func siteless(text string) string {
	lines := strings.Split(chance.ReplaceAllString(text, "4711"), "\n")
	for i, line := range lines {
		rest, is := strings.CutPrefix(line, "#SBATCH")
		if !is {
			continue
		}
		for _, v := range siteValue {
			rest = v.option.ReplaceAllString(rest, v.as)
		}
		if m := otherGres.FindStringSubmatch(rest); m != nil && !strings.HasPrefix(m[2], "gpu") {
			rest = otherGres.ReplaceAllString(rest, "")
		}
		lines[i] = "#SBATCH" + rest
	}
	return strings.Join(lines, "\n")
}

// rootsHome is the home directory of who runs everything on either side: root, as the machine has it.
var rootsHome = func() string {
	u, err := user.LookupId("0")
	if err != nil {
		return "/"
	}
	return u.HomeDir
}()

// records is where stubs write down how they were called.
const records = "/srv/records"

// stub is a program that the machine has not: it writes down what it sees.
const stub = `#!/bin/bash
name=${0##*/} mask=$(umask)
{
	echo "program $name $*"
	echo "dir $(/bin/pwd) umask $mask limits $(ulimit -n) $(ulimit -c) $(ulimit -s) $(ulimit -l) $(ulimit -u) $(ulimit -v) $(ulimit -t)"
	echo "user $USER $LOGNAME $HOME $SHELL tmp $TMPDIR gpus $CUDA_VISIBLE_DEVICES threads $OMP_NUM_THREADS"
	/usr/bin/env | LC_ALL=C /usr/bin/sort | /bin/grep -E '^SLURM[A-Z_]*='
} >` + records + `/$$
echo "# $name $*"
`

// own are stubs that do what they are called for, but the same at each time and
// on each side.
var own = map[string]string{
	"date": `case " $* " in *" -d"*|*" --d"*|*" -r"*) exec /bin/date "$@" ;; esac
exec /bin/date -d @1700000000 "$@"`,
	"hostname": "echo host",
	"sleep":    "exec /bin/sleep 0.3",
	"rm": `for a; do case $a in /|/\*|/[!/]*) case ${a#/} in */?*) ;; *) echo "not $a" >&2; exit 1 ;; esac ;; esac; done
exec /bin/rm "$@"`,
}

// missing are programs that scripts call; the machine's own, where it has them,
// would do something else on another machine.
var missing = strings.Fields(`python python3 python2 module ml conda mamba mpirun mpiexec nvidia-smi rocm-smi singularity apptainer docker podman
	git curl wget pip pip3 make cmake gcc g++ gfortran mpicc nvcc sudo kill pkill killall ps top free df lscpu uptime nproc lsof ip ifconfig
	tar rsync scp ssh mail sendmail perl Rscript R java numactl taskset sreport shutdown reboot apt apt-get yum npm node`)

var (
	word    = regexp.MustCompile(`[A-Za-z][\w.+-]+`)
	grammar = map[string]bool{}
)

func init() {
	for _, w := range strings.Fields("if then else elif fi for while until do done case esac in function select time coproc echo set export local declare cd exit return test source eval exec true false wait trap shift read printf unset type command umask muster") {
		grammar[w] = true
	}
}

// stubs are the programs that stand for those that the machine lacks: of every
// word of the scripts that could be one.
func stubs(texts map[string]string) map[string]string {
	all := map[string]string{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, w := range word.FindAllString(line, -1) {
				if _, err := exec.LookPath(w); err != nil && !grammar[w] && !strings.HasPrefix(w, "s") {
					all[w] = stub
				}
			}
		}
	}
	for _, w := range missing {
		all[w] = stub
	}
	for name, does := range own {
		all[name] = fmt.Sprintf("#!/bin/sh\n%s\n", does)
	}
	return all
}
