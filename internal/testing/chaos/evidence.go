package chaos

import (
	"fmt"
	"strconv"
	"strings"
)

// prologue is how every command begins. What it writes of itself lies outside
// of the data directory, one line in one write, and costs no fork.
const prologue = `E=%s I=0
mark() { read -r T _ </proc/uptime; echo "$1 $MUSTER_WORKLOAD_ID $MUSTER_ATTEMPT $MUSTER_TASK_INDEX ${MUSTER_TASK_RUN:-0} $$ $T ${CUDA_VISIBLE_DEVICES:--} $2 $3" >>"$E"; }
count() { while [ $I -lt $1 ]; do I=$((I+1)); echo $I; done; }
end() { mark end $1 $I; exit $1; }
trap 'end 143' TERM
mark start 0 0
`

// Run is one run of one task.
type Run struct {
	Workload            string
	Attempt, Index, Run int
}

func (r Run) String() string {
	s := fmt.Sprintf("%s/%d/%d", r.Workload, r.Attempt, r.Index)
	if r.Run > 0 {
		s += "/" + strconv.Itoa(r.Run)
	}
	return s
}

// Mark is what a command wrote of itself: that it begins, or that it ends, with
// which code and after how many lines.
type Mark struct {
	Run
	End     bool
	PID     int // as it saw it
	At      Tick
	Devices string
	Code    int
	Lines   int
}

// ParseEvidence reads what commands wrote of themselves.
func ParseEvidence(text string) ([]Mark, error) {
	var all []Mark
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 10 || f[0] != "start" && f[0] != "end" {
			return nil, fmt.Errorf("evidence %q is not understood", line)
		}
		m := Mark{Run: Run{Workload: f[1]}, End: f[0] == "end", Devices: strings.Trim(f[7], "-")}
		for i, to := range map[int]*int{2: &m.Attempt, 3: &m.Index, 4: &m.Run.Run, 5: &m.PID, 8: &m.Code, 9: &m.Lines} {
			n, err := strconv.Atoi(f[i])
			if err != nil {
				return nil, fmt.Errorf("evidence %q: %w", line, err)
			}
			*to = n
		}
		var err error
		if m.At, err = parseTick(f[6]); err != nil {
			return nil, fmt.Errorf("evidence %q: %w", line, err)
		}
		all = append(all, m)
	}
	return all, nil
}
