package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/securego/gosec/v2"
	"github.com/securego/gosec/v2/analyzers"
	"github.com/securego/gosec/v2/rules"
	"golang.org/x/tools/go/packages"
)

// reasonsFile says why what gosec finds is no fault: RULE COUNT PATH REASON, where PATH
// is a file, or a directory with all below it.
const reasonsFile = "tools/security/gosec.txt"

// spot is one finding.
type spot struct {
	rule, file, line, text string
}

// reason is a line of reasonsFile.
type reason struct {
	rule, path, why string
	count           int
}

// patterns looks for gosec's patterns in packages, all of which are loaded once.
func patterns(names []string) error {
	text, err := os.ReadFile(reasonsFile)
	if err != nil {
		return err
	}
	reasons, err := reasonsOf(string(text))
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedModule,
	}, names...)
	if err != nil {
		return err
	}
	if packages.PrintErrors(all) > 0 {
		return errors.New("the packages do not compile")
	}
	a := gosec.NewAnalyzer(gosec.NewConfig(), false, true, false, 1, log.New(io.Discard, "", 0))
	a.LoadRules(rules.Generate(false).RulesInfo())
	a.LoadAnalyzers(analyzers.Generate(false).AnalyzersInfo())
	for _, p := range all {
		a.CheckRules(p)
		a.CheckAnalyzers(p)
	}
	issues, stats, errs := a.Report()
	if len(errs) > 0 {
		return fmt.Errorf("gosec could not look at everything: %v", errs)
	}
	var spots []spot
	for _, i := range issues {
		file, err := filepath.Rel(root, i.File)
		if err != nil {
			return err
		}
		spots = append(spots, spot{i.RuleID, filepath.ToSlash(file), i.Line, i.What})
	}
	fmt.Printf("gosec: %d files, %d findings, each with a reason in %s unless named here\n", stats.NumFiles, len(spots), reasonsFile)
	return unexplained(spots, reasons)
}

// reasonsOf reads reasonsFile.
func reasonsOf(text string) ([]reason, error) {
	var all []reason
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		n, err := 0, error(nil)
		if len(f) > 6 {
			n, err = strconv.Atoi(f[1])
		}
		if len(f) < 7 || err != nil || n < 1 || !strings.HasPrefix(f[0], "G") {
			return nil, fmt.Errorf("%s: %q is not RULE COUNT PATH and a reason in a sentence", reasonsFile, line)
		}
		all = append(all, reason{f[0], strings.TrimSuffix(f[2], "/"), strings.Join(f[3:], " "), n})
	}
	return all, nil
}

// unexplained fails for findings without a reason, and for reasons that are about another
// number of findings than there are: what comes anew is looked at, what is mended is
// taken away. Of several reasons the one with the longest path counts.
func unexplained(spots []spot, reasons []reason) error {
	var wrong []string
	spots = slices.Clone(spots)
	found := make([]int, len(reasons))
	places := make([][]string, len(reasons))
	slices.SortFunc(spots, func(a, b spot) int { return strings.Compare(a.file+a.line, b.file+b.line) })
	for _, s := range spots {
		best := -1
		for i, r := range reasons {
			if r.rule == s.rule && (s.file == r.path || strings.HasPrefix(s.file, r.path+"/")) && (best < 0 || len(r.path) > len(reasons[best].path)) {
				best = i
			}
		}
		if best < 0 {
			wrong = append(wrong, fmt.Sprintf("%s:%s: %s %s: mend it, or say in %s why it is no fault", s.file, s.line, s.rule, s.text, reasonsFile))
			continue
		}
		found[best]++
		places[best] = append(places[best], s.file+":"+s.line)
	}
	for i, r := range reasons {
		if found[i] != r.count {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s has a reason for %d, and there are %d: look at what is new, or take away what is mended: %s", reasonsFile, r.rule, r.path, r.count, found[i], strings.Join(places[i], " ")))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
