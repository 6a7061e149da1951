package sim

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/stay.txt again")

// stayFirst and stayLast are the seeds of the worlds that stay, the first twenty of them
// with -short.
const stayFirst, stayLast = 10_001, 10_060

// TestWorldsStay holds everything that the engine publishes, asks backends for and
// refuses in some worlds to what it was when testdata/stay.txt was written: one line a
// world, with how much it says of each and a sum over every byte. Whoever means to change
// what is said, or when, writes the file again (-update) and looks at which worlds
// differ; -sim.shown=10007 prints one, before and after.
func TestWorldsStay(t *testing.T) {
	t.Parallel()
	const file = "testdata/stay.txt"
	was := map[string]string{}
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		was[strings.Fields(line)[0]] = strings.TrimSpace(line)
	}
	var mu sync.Mutex
	var lines []string
	t.Run("seed", func(t *testing.T) {
		last := uint64(stayLast)
		if testing.Short() && !*update {
			last = stayFirst + 19
		}
		for seed := uint64(stayFirst); seed <= last; seed++ {
			name := fmt.Sprint(seed)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				all := everything(seed)
				if *shown == seed {
					t.Log(strings.Join(all, "\n"))
				}
				is := name + " " + spoken(all)
				mu.Lock()
				lines = append(lines, is)
				mu.Unlock()
				if !*update && is != was[name] {
					t.Errorf("this world is another than it was:\n%s\nit was\n%s\n-sim.shown=%s -v prints all of it; -update writes %s again", is, was[name], name, file)
				}
			})
		}
	})
	if *update {
		slices.Sort(lines)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var shown = flag.Uint64("sim.shown", 0, "print all that is said in this world of those that stay")

// spoken is how many records there are of each sort, with a digest of them.
func spoken(all []string) string {
	sums := []struct {
		sort string
		n    int
		text strings.Builder
	}{{sort: "changes"}, {sort: "actions"}, {sort: "errors"}, {sort: "answers"}, {sort: "trace"}}
	for _, line := range all {
		sort, _, _ := strings.Cut(line, " ")
		i := 0
		for i < len(sums)-1 && sums[i].sort != sort {
			i++
		}
		sums[i].n++
		sums[i].text.WriteString(line + "\n")
	}
	var out []string
	for i := range sums {
		h := fnv.New64a()
		h.Write([]byte(sums[i].text.String()))
		out = append(out, fmt.Sprintf("%s %d %s", sums[i].sort, sums[i].n, strconv.FormatUint(h.Sum64(), 36)))
	}
	return strings.Join(out, "  ")
}
