package scenario

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/quota"
)

// ShareCase is a sum of fair shares, in devices, thousandths of cores and
// millions of bytes.
type ShareCase struct {
	File  string `json:"-"`
	Index int    `json:"-"` // position in the file

	Name      string             `json:"name"`
	Source    string             `json:"source"`
	Total     Sum                `json:"total"`
	Queues    []ShareQueue       `json:"queues"`
	Expected  map[string]SumPart `json:"expected_share"` // by queue
	Remaining *float64           `json:"expected_remaining_gpu"`
}

// Sum is an amount of each resource.
type Sum struct {
	GPU    float64 `json:"gpu"`
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"mem"`
}

// SumPart is an amount of those resources that matter.
type SumPart struct {
	GPU    *float64 `json:"gpu"`
	CPU    *float64 `json:"cpu"`
	Memory *float64 `json:"mem"`
}

// ShareQueue is a queue with what it wants.
type ShareQueue struct {
	ID           string     `json:"id"`
	Parent       string     `json:"parent"`
	Priority     int        `json:"priority"`
	CreatedOrder int64      `json:"created_order"`
	GPU          ShareTerms `json:"gpu"`
	CPU          ShareTerms `json:"cpu"`
	Memory       ShareTerms `json:"mem"`
}

// ShareTerms are a queue's rights to one resource, and its wish; nil is unlimited.
type ShareTerms struct {
	Quota   *float64 `json:"quota"`
	Limit   *float64 `json:"limit"`
	Weight  float64  `json:"over_quota_weight"`
	Request float64  `json:"request"`
}

// perUnit are quota's units in one of the file's.
var perUnit = [quota.Resources]float64{quota.GPU: 1000, quota.CPU: 1, quota.Memory: 1e6}

// weightPerUnit keeps three digits of a weight.
const weightPerUnit = 1000

// ID is file#index.
func (c *ShareCase) ID() string { return fmt.Sprintf("%s#%d", c.File, c.Index) }

func (c *ShareCase) validate() error {
	v := validation{queues: map[string]bool{}}
	queues := make([]Queue, len(c.Queues))
	for i, q := range c.Queues {
		queues[i] = Queue{Name: q.ID, Parent: q.Parent}
	}
	v.checkQueues(queues)
	for _, id := range slices.Sorted(maps.Keys(c.Expected)) {
		v.exists("expected_share", id, v.queues)
	}
	return errors.Join(v.errs...)
}

// amount is a figure of the file in quota's unit.
func amount(r quota.Resource, n *float64) int64 {
	if n == nil {
		return quota.Unlimited
	}
	return int64(math.Round(*n * perUnit[r]))
}

// Run divides and returns the line that says what differs; "" if nothing does.
func (c *ShareCase) Run() string {
	// Queues are served by id where nothing else decides.
	sorted := slices.SortedFunc(slices.Values(c.Queues), func(a, b ShareQueue) int { return strings.Compare(a.ID, b.ID) })
	index := map[string]int{"": -1}
	for i, q := range sorted {
		index[q.ID] = i
	}
	queues := make([]quota.Queue, len(sorted))
	for i, q := range sorted {
		queues[i] = quota.Queue{Parent: index[q.Parent], Priority: q.Priority, Age: q.CreatedOrder}
		for r, t := range []ShareTerms{q.GPU, q.CPU, q.Memory} {
			r := quota.Resource(r)
			queues[i].Quota[r], queues[i].Limit[r] = amount(r, t.Quota), amount(r, t.Limit)
			queues[i].Weight[r], queues[i].Request[r] = int64(math.Round(t.Weight*weightPerUnit)), amount(r, &t.Request)
		}
	}
	var total quota.Amounts
	for r, n := range []float64{c.Total.GPU, c.Total.CPU, c.Total.Memory} {
		total[r] = amount(quota.Resource(r), &n)
	}
	return c.judge(queues, index, total, quota.Share(total, queues, 0, nil))
}

func (c *ShareCase) judge(queues []quota.Queue, index map[string]int, total quota.Amounts, got []quota.Amounts) string {
	for _, id := range slices.Sorted(maps.Keys(c.Expected)) {
		x := c.Expected[id]
		for r, want := range []*float64{x.GPU, x.CPU, x.Memory} {
			r := quota.Resource(r)
			if want != nil && amount(r, want) != got[index[id]][r] {
				return fmt.Sprintf("%s %s: queue %s: expected %v of %s, got %v", c.ID(), c.Name, id, *want, r, float64(got[index[id]][r])/perUnit[r])
			}
		}
	}
	left := total[quota.GPU]
	for i, q := range queues {
		if q.Parent < 0 {
			left -= got[i][quota.GPU]
		}
	}
	if c.Remaining != nil && max(left, 0) != amount(quota.GPU, c.Remaining) {
		return fmt.Sprintf("%s %s: expected %v of GPU to be left, were %v", c.ID(), c.Name, *c.Remaining, float64(left)/perUnit[quota.GPU])
	}
	return ""
}
