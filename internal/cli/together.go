package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec"
)

// runTogether submits all workloads of a file, or none.
func (s *session) runTogether(ctx context.Context, o *runOptions, all []piece) error {
	docs := make([]json.RawMessage, len(all))
	for i, p := range all {
		var err error
		if docs[i], err = encode(p.doc); err != nil {
			return err
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	ws, err := c.Together(ctx, docs, client.SubmitOptions{Key: o.key, DryRun: o.dryRun})
	if err != nil {
		return s.problemAmong(all, err)
	}
	if o.dryRun {
		return s.plannedAll(ws)
	}
	if o.follow || o.wait {
		for i := range ws {
			s.submitted(&ws[i], false)
		}
		return o.until(ctx, s, c, &ws[len(ws)-1])
	}
	if s.machine() {
		return s.document(api.WorkloadList{Items: ws})
	}
	for i := range ws {
		if _, err := fmt.Fprintln(s.io.Out, ws[i].Name); err != nil {
			return err
		}
		if s.format() != "name" {
			s.submitted(s.place(ctx, c, &ws[i]), false)
		}
	}
	return nil
}

// ofOne refuses what only one workload can have or be asked for.
func (d *documentFlags) ofOne(n int, argv []string) error {
	for _, flag := range []string{"name", "prefix", "stdin"} {
		if d.cmd.Flags().Changed(flag) {
			return usage(fmt.Sprintf("--%s is of one workload, and %s holds %d", flag, d.file, n), "leave it out, and say it in the file")
		}
	}
	if len(argv) > 0 {
		return usage(fmt.Sprintf("the words %q would be arguments of each of the %d workloads that %s holds", strings.Join(argv, " "), n, d.file), "say them in the file")
	}
	return nil
}

// plannedAll shows workloads that were only checked.
func (s *session) plannedAll(ws []api.Workload) error {
	if s.format() == "yaml" {
		docs := make([]*spec.Document, len(ws))
		for i, w := range ws {
			docs[i] = new(spec.Document)
			if err := docs[i].UnmarshalJSON(w.Spec); err != nil {
				return err
			}
		}
		return s.documents(docs)
	}
	if s.machine() {
		return s.document(api.WorkloadList{Items: ws})
	}
	for i := range ws {
		if err := s.planned(&ws[i]); err != nil {
			return err
		}
	}
	return nil
}

// problemAmong gives a refusal of the server the line where the document that it
// is about begins, and says which that is.
func (s *session) problemAmong(all []piece, err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	which := ""
	for i := range p.Errors {
		e := &p.Errors[i]
		e.Line = 0 // of what was sent, which no one has written
		rest, ok := strings.CutPrefix(e.Path, "items[")
		number, path, _ := strings.Cut(rest, "]")
		if at, nerr := strconv.Atoi(number); ok && nerr == nil && at < len(all) {
			e.Path = strings.TrimPrefix(path, ".")
			which = fmt.Sprintf(", because of workload %d %s", at+1, all[at].doc.Name)
			if src := all[at].src; !src.foreign {
				e.Line = src.before + src.firstLine()
			}
		}
	}
	s.say("none of the %d workloads is submitted%s", len(all), strings.TrimRight(which, " "))
	return &failure{code: codeOf(p), problem: p, file: all[0].src.file}
}

// firstLine is the line of data on which something stands.
func (src source) firstLine() int {
	n := 0
	for line := range strings.Lines(string(src.data)) {
		n++
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			break
		}
	}
	return n
}
