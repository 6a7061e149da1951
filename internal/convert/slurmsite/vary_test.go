package slurmsite

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/vary"
)

var update = flag.Bool("update", false, "write testdata/variations.txt again")

// a site as sacctmgr dump and slurm.conf tell of it, with most that they can say.
const accounts = `# To edit this file start with a cluster line for the new cluster
Cluster - 'bright':Fairshare=1:QOS='normal,high'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='the physicists':Organization='science':Fairshare=60:GrpTRES=cpu=640,gres/gpu=16,mem=1T:GrpJobs=100:GrpSubmit=500
Account - 'chemistry':Fairshare=40:GrpTRES=gres/gpu:a100=8:MaxJobs=10:MaxTRESPerJob=gres/gpu=4:MaxWall=2-00:00:00
Account - 'old':Fairshare=parent:GrpTRESMins=gres/gpu=60000:MaxSubmitJobs=20:QOS='low'
Parent - 'physics'
Account - 'lattice':Fairshare=3:GrpTRES=gres/gpu=4
User - 'ann':Coordinator='physics,lattice':DefaultAccount='lattice':Fairshare=1:MaxJobs=5
User - 'bob':AdminLevel='Operator':DefaultAccount='physics':GrpTRES=gres/gpu=2:MaxSubmitJobs=7
Parent - 'chemistry'
User - 'cyd':DefaultAccount='chemistry':Fairshare=1
`

const configuration = `ClusterName=bright
SelectType=select/cons_tres
GresTypes=gpu,mps
PriorityType=priority/multifactor
PreemptType=preempt/qos
PreemptMode=REQUEUE
DefMemPerCPU=4000
NodeName=DEFAULT CPUs=64 RealMemory=512000 State=UNKNOWN
NodeName=n[01-04] Gres=gpu:a100:8 Feature=ib,nvlink
NodeName=g[1-2,5] Gres=gpu:4 RealMemory=256G
NodeName=c[1-20] CPUs=32
PartitionName=DEFAULT State=UP MaxTime=7-00:00:00
PartitionName=gpu Nodes=n[01-04],g[1-2,5] Default=YES AllowAccounts=physics,chemistry PriorityTier=10 OverSubscribe=NO
PartitionName=cpu Nodes=c[1-20] MaxTime=INFINITE DefaultTime=60 AllowGroups=staff
PartitionName=short Nodes=c[1-4] MaxTime=30 MaxNodes=2 PreemptMode=OFF QOS=high
PartitionName=closed Nodes=ALL State=DOWN Hidden=YES DenyAccounts=old
`

// TestVariationsStay holds what is made of a site, in which a line or a word is another,
// to what it was when testdata/variations.txt was written.
func TestVariationsStay(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	read := func(name, text string, files func(string) []string) {
		var out strings.Builder
		for i, v := range slices.Insert(vary.Texts(text, 2000), 0, text) {
			s, err := Read(files(v)...)
			fmt.Fprintf(&out, "%d: %v\n", i, err)
			if err != nil {
				continue
			}
			text, err := s.Text()
			fmt.Fprintf(&out, "%s%v\n%s\n%v\n", text, err, strings.Join(s.Commands, "\n"), s.Notes)
		}
		texts[name] = out.String()
	}
	read("accounts", accounts, func(v string) []string { return []string{v} })
	read("configuration", configuration, func(v string) []string { return []string{v} })
	read("both", accounts, func(v string) []string { return []string{configuration, v} })
	vary.Stay(t, "testdata/variations.txt", *update, texts)
}
