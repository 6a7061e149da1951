package browser_test

import (
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keptLayouts are the screens that people look at most: where their parts stand is kept in
// testdata/layouts, and a part that is elsewhere, has another width or is gone is an error.
var keptLayouts = []string{"workloads", "workload-running", "workload-waiting", "workload-logs", "submit", "overview", "queue", "map", "nodes", "projects"}

var updateLayouts = flag.Bool("update", false, "write the kept layouts of screens that are looked at anew")

// Where a part may be without its layout being another one: so many pixels, or that part
// of how far it is. Heights are not kept, since they go by what there is to show, and what
// stands above a part moves it down.
const (
	nearX, nearY = 12.0, 40.0
	partY        = 0.3
)

//go:embed testdata/boxes.js
var boxes string

// box is where a part of a screen is, in pixels.
type box struct {
	Name       string
	X, Y, Wide float64
}

func (b box) String() string { return fmt.Sprintf("%.0f %.0f %.0f %s", b.X, b.Y, b.Wide, b.Name) }

// strays says where a part is otherwise than kept; empty: it is not.
func (b box) strays(kept box) string {
	switch {
	case math.Abs(b.X-kept.X) > nearX, math.Abs(b.Wide-kept.Wide) > nearX+0.05*kept.Wide:
		return "is at the side, or has another width"
	case math.Abs(b.Y-kept.Y) > nearY+partY*kept.Y:
		return "is higher or lower"
	}
	return ""
}

// keepsLayout compares the parts of a screen with the kept ones.
func (g *page) keepsLayout(name string) {
	g.t.Helper()
	file := filepath.Join("testdata", "layouts", name+".txt")
	if *updateLayouts {
		var lines []string
		for _, b := range g.boxes() {
			lines = append(lines, b.String())
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		g.t.Fatalf("%v; -update writes it", err)
	}
	var wrong []string
	for range 50 { // what still comes in has its time
		if wrong = stray(g.boxes(), string(text)); len(wrong) == 0 {
			return
		}
		g.must(g.Eval(`new Promise(done => setTimeout(done, 100))`, nil))
	}
	for _, w := range wrong {
		g.t.Errorf("the layout is another one: %s; if it is meant, -update keeps it", w)
	}
}

func (g *page) boxes() []box {
	g.t.Helper()
	var all []box
	g.must(g.Eval(boxes, &all))
	return all
}

// stray says which of the kept parts are not where they were.
func stray(have []box, kept string) []string {
	var out []string
	for line := range strings.Lines(kept) {
		var k box
		if n, _ := fmt.Sscanf(line, "%f %f %f", &k.X, &k.Y, &k.Wide); n != 3 {
			return []string{"cannot be read: " + line}
		}
		k.Name = strings.Join(strings.Fields(line)[3:], " ")
		i := slices.IndexFunc(have, func(b box) bool { return b.Name == k.Name })
		if i < 0 {
			out = append(out, k.Name+" is gone")
		} else if how := have[i].strays(k); how != "" {
			out = append(out, fmt.Sprintf("%s %s: %s, was %s", k.Name, how, have[i], k))
		}
	}
	return out
}

// A part that is gone, moved or squeezed is found; one that is a little lower is not.
func TestALayoutThatIsAnotherIsFound(t *testing.T) {
	kept := "0 0 208 .nav\n236 20 1016 h1\n236 400 500 card Queue\n"
	good := []box{{".nav", 0, 0, 208}, {"h1", 240, 24, 1016}, {"card Queue", 236, 480, 505}, {"new", 1, 1, 1}}
	if wrong := stray(good, kept); len(wrong) > 0 {
		t.Errorf("it says %q", wrong)
	}
	for what, bad := range map[string][]box{
		"is gone":   good[:2],
		"the side":  {good[0], {"h1", 28, 20, 1016}, good[2]},
		"width":     {good[0], good[1], {"card Queue", 236, 400, 250}},
		"or lower":  {good[0], good[1], {"card Queue", 236, 900, 500}},
		"is higher": {good[0], {"h1", 236, 200, 1016}, good[2]},
	} {
		if wrong := stray(bad, kept); len(wrong) != 1 || !strings.Contains(wrong[0], what) {
			t.Errorf("%s: it says %q", what, wrong)
		}
	}
}
