package quota

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// sum is one case of testdata/fairshare.json.
type sum struct {
	Name   string
	Total  map[string]float64
	Queues []struct {
		ID           string
		Parent       string
		Priority     int
		CreatedOrder int64 `json:"created_order"`
		GPU          terms
		CPU          terms
		Mem          terms
	}
	Share     map[string]map[string]float64 `json:"expected_share"`
	Remaining *float64                      `json:"expected_remaining_gpu"`
}

type terms struct {
	Quota, Limit *float64
	Weight       float64 `json:"over_quota_weight"`
	Request      float64
}

// inOurs are our units in one of the file's.
var inOurs = map[string]float64{"gpu": 1000, "cpu": 1, "mem": 1e6}

func ours(unit string, v *float64) int64 {
	if v == nil {
		return Unlimited
	}
	return int64(math.Round(*v * inOurs[unit]))
}

func (s *sum) queues() ([]Queue, map[string]int) {
	index := map[string]int{"": -1}
	for i, q := range s.Queues {
		index[q.ID] = i
	}
	queues := make([]Queue, len(s.Queues))
	for i, q := range s.Queues {
		queues[i] = Queue{Parent: index[q.Parent], Priority: q.Priority, Age: q.CreatedOrder}
		for r, t := range []terms{q.GPU, q.CPU, q.Mem} {
			unit := []string{"gpu", "cpu", "mem"}[r]
			queues[i].Quota[r], queues[i].Limit[r] = ours(unit, t.Quota), ours(unit, t.Limit)
			queues[i].Weight[r], queues[i].Request[r] = int64(t.Weight*1000), ours(unit, &t.Request)
		}
	}
	return queues, index
}

func TestSharesAreAsInTheField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/fairshare.json")
	if err != nil {
		t.Fatal(err)
	}
	var sums []sum
	if err := json.Unmarshal(text, &sums); err != nil {
		t.Fatal(err)
	}
	if len(sums) < 16 {
		t.Fatalf("only %d cases", len(sums))
	}
	for _, s := range sums {
		t.Run(s.Name, func(t *testing.T) {
			var total Amounts
			for r, unit := range []string{"gpu", "cpu", "mem"} {
				v := s.Total[unit]
				total[r] = ours(unit, &v)
			}
			queues, index := s.queues()
			got := Share(total, queues, 0, nil)
			rest := total[GPU]
			for i, q := range queues {
				if q.Parent < 0 {
					rest -= got[i][GPU]
				}
			}
			for id, want := range s.Share {
				for r, unit := range []string{"gpu", "cpu", "mem"} {
					if v, asked := want[unit]; asked && got[index[id]][r] != ours(unit, &v) {
						t.Errorf("queue %s gets %d of %s, want %d", id, got[index[id]][r], Resource(r), ours(unit, &v))
					}
				}
			}
			if s.Remaining != nil && rest != ours("gpu", s.Remaining) {
				t.Errorf("%d GPU thousandths are left, want %v devices", rest, *s.Remaining)
			}
		})
	}
}
