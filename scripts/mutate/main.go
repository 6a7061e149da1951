// Command mutate says how many mistakes the tests would notice. It makes a package
// wrong in one place after the other (a condition turned round, < instead of <=, a
// statement left out, an error not returned …) and runs the tests that come by there.
// A mutant that makes a test fail is killed; one that does not survives, and is
// printed with its place.
//
// Nothing in the tree changes: every mutation is compiled into the tests once, through
// go's -overlay, and the environment variable MUTANT says which one is on. Tests whose
// code never comes by a mutation are not run for it.
//
//	go run ./scripts/mutate                         everything: a night
//	go run ./scripts/mutate -sample 150 engine      150 of the engine's, with an interval
//	go run ./scripts/mutate -again survivors.txt    once more what survived, after tests were added
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// group are packages that are judged by the same tests.
type group struct {
	name     string
	packages []string
	judges   []string
}

var groups = []group{
	{"core", []string{"./internal/core/..."}, []string{"./internal/core/...", "./internal/engine", "./internal/testing/sim", "./internal/simulate/scenario"}},
	{"engine", []string{"./internal/engine/..."}, []string{"./internal/engine/...", "./internal/control", "./internal/testing/sim", "./internal/server/..."}},
	{"convert", []string{"./internal/convert/..."}, []string{"./internal/convert/...", "./internal/compat/..."}},
}

// options are what the command line said.
type options struct {
	sample  int
	seed    uint64
	most    time.Duration
	longest float64
	within  string
	again   map[string]bool
	work    string
	verbose bool
}

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 0, "take this many of each group, by chance; 0 takes all")
	flag.Uint64Var(&o.seed, "seed", 1, "of the chance")
	flag.DurationVar(&o.most, "for", 0, "end a sample after this time: what was judged until then is a sample too")
	flag.Float64Var(&o.longest, "longest", math.Inf(1), "leave out tests that take more than so many seconds by themselves")
	flag.StringVar(&o.within, "within", "", "only mutants of files whose path contains this")
	again := flag.String("again", "", "only the mutants that this file lists, one a line as -list writes them")
	survivors := flag.String("list", "", "write the survivors to this file")
	flag.StringVar(&o.work, "work", "", "keep binaries, and what they reach, in this directory")
	flag.BoolVar(&o.verbose, "v", false, "print every mutant and what killed it")
	flag.Parse()
	if err := command(o, *again, *survivors, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func command(o options, again, survivors string, names []string) error {
	var chosen []group
	for _, g := range groups {
		if len(names) == 0 || slices.Contains(names, g.name) {
			chosen = append(chosen, g)
		}
	}
	if len(chosen) < len(names) {
		return fmt.Errorf("the groups are core, engine and convert, not %s", strings.Join(names, ", "))
	}
	if again != "" {
		data, err := os.ReadFile(again)
		if err != nil {
			return err
		}
		o.again = map[string]bool{}
		for line := range strings.Lines(string(data)) {
			o.again[strings.TrimSpace(line)] = true
		}
	}
	list := io.Discard
	if survivors != "" {
		f, err := os.Create(survivors)
		if err != nil {
			return err
		}
		defer f.Close()
		list = f
	}
	return mutate(o, chosen, os.Stdout, list)
}

// mutate judges the mutants of the groups and prints the survivors and the figures.
func mutate(o options, chosen []group, out, list io.Writer) error {
	if o.work == "" {
		dir, err := os.MkdirTemp("", "mutate-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.work = dir
	}
	if err := os.MkdirAll(o.work, 0o777); err != nil {
		return err
	}
	var err error
	if o.work, err = filepath.Abs(o.work); err != nil {
		return err
	}
	var figures []figure
	for _, g := range chosen {
		some, err := g.mutate(o, out, list)
		if err != nil {
			return err
		}
		figures = append(figures, some...)
	}
	for _, f := range figures {
		fmt.Fprintln(out, f)
	}
	return nil
}

func (g group) mutate(o options, out, list io.Writer) ([]figure, error) {
	dir := filepath.Join(o.work, g.name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	p, err := load(dir, g.packages)
	if err != nil {
		return nil, err
	}
	var points []*point
	dropped := 0
	for _, one := range p.points {
		if one.dropped {
			dropped++
		} else if strings.Contains(one.file, o.within) && (o.again == nil || o.again[one.String()]) {
			points = append(points, one)
		}
	}
	sum := figure{what: g.name, mutants: len(points)}
	progress("%s: %d mutants, %d more do not compile", g.name, len(points), dropped)
	judges, err := p.prepare(dir, g.judges)
	if err != nil {
		return nil, err
	}
	if o.sample > 0 && o.sample < len(points) {
		chance := rand.New(rand.NewPCG(o.seed, 0))
		chance.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		points = points[:o.sample]
	}
	buffered := bufio.NewWriter(list)
	defer buffered.Flush()
	byPackage := map[string]*figure{}
	var figures []*figure
	began := time.Now()
	for i, one := range points {
		if o.most > 0 && time.Since(began) > o.most {
			break
		}
		of := byPackage[one.pkg]
		if of == nil {
			of = &figure{what: strings.TrimPrefix(one.pkg, p.module+"/")}
			byPackage[one.pkg], figures = of, append(figures, of)
		}
		reached, by := killed(judges, one, o.longest)
		for _, f := range []*figure{of, &sum} {
			f.judged++
			if reached {
				f.reached++
			}
			if by != "" {
				f.killed++
			}
		}
		switch {
		case by == "" && !reached:
			fmt.Fprintf(out, "%s (no test comes by)\n", one)
		case by == "":
			fmt.Fprintln(out, one)
		case o.verbose:
			fmt.Fprintf(out, "%s: killed by %s\n", one, by)
		}
		if by == "" {
			fmt.Fprintln(buffered, one)
			buffered.Flush()
		}
		if (i+1)%50 == 0 {
			progress("%s: %d of %d, %d killed", g.name, i+1, len(points), sum.killed)
		}
	}
	var all []figure
	for _, f := range figures {
		f.mutants = f.judged
		all = append(all, *f)
	}
	return append(all, sum), nil
}

// figure is what came out for one package, or for a group.
type figure struct {
	what                             string
	mutants, judged, reached, killed int
}

func (f figure) String() string {
	s := fmt.Sprintf("%-40s %5d of %5d mutants judged, %5d reached, %5d killed", f.what, f.judged, f.mutants, f.reached, f.killed)
	if f.judged == 0 {
		return s
	}
	s += fmt.Sprintf(": %.1f %%", 100*float64(f.killed)/float64(f.judged))
	if f.judged < f.mutants {
		low, high := interval(f.killed, f.judged)
		s += fmt.Sprintf(" (95 %%: %.0f to %.0f %%)", 100*low, 100*high)
	}
	return s
}

// interval is Wilson's, for a share of a sample.
func interval(hits, n int) (low, high float64) {
	const z = 1.96
	p, m := float64(hits)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return (middle - half) / (1 + z*z/m), (middle + half) / (1 + z*z/m)
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
