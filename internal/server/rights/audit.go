package rights

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

// Selection selects entries of the audit log; exported for the framework, which fills
// it where it is embedded.
type Selection struct {
	Actor  string    `query:"actor" doc:"user:NAME, or NAME, or anonymous"`
	Noun   string    `query:"noun"`
	Action string    `query:"action" doc:"The route of the API, such as POST /v1/pools"`
	Result string    `query:"result" enum:"done,refused"`
	Since  time.Time `query:"since" doc:"From then on"`
	Until  time.Time `query:"until" doc:"Before then"`
}

func (x *Selection) query() store.AuditQuery {
	q := store.AuditQuery{Noun: x.Noun, Action: x.Action, Result: core.AuditResult(x.Result), Since: x.Since, Until: x.Until}
	if q.Actor = x.Actor; q.Actor != "" && q.Actor != "anonymous" && !hasKind(q.Actor) {
		q.Actor = "user:" + q.Actor
	}
	return q
}

func hasKind(actor string) bool { return len(actor) > 5 && actor[:5] == "user:" }

// auditChunk is how many entries are read at a time.
const auditChunk = 1000

func (s *routes) auditRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/v1/audit", Summary: "The audit log, the newest first: who did what, or was kept from it", Tags: tags,
	}, func(ctx context.Context, in *struct {
		Selection
		Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor int64 `query:"cursor" minimum:"0" doc:"next of the page before"`
	}) (*struct{ Body api.AuditList }, error) {
		q := in.query()
		q.Newest, q.Limit, q.Before = true, in.Limit+1, in.Cursor
		found, err := s.Store.Audit(ctx, q)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &struct{ Body api.AuditList }{api.AuditList{Items: []api.AuditEntry{}}}
		if len(found) > in.Limit {
			found = found[:in.Limit]
			out.Body.Next = strconv.FormatInt(found[in.Limit-1].Seq, 10)
		}
		for i := range found {
			out.Body.Items = append(out.Body.Items, wire.AuditEntry(&found[i]))
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "verify-audit", Method: http.MethodGet, Path: "/v1/audit/verify", Summary: "Whether the audit log is as it was written, or which entry is the first that is not", Tags: tags,
	}, func(ctx context.Context, in *struct {
		Head string `query:"head" doc:"SEQ:HASH, as a verification before has told: that entry has to be in the log"`
	}) (*struct{ Body api.AuditVerification }, error) {
		out, err := s.verify(ctx, in.Head)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &struct{ Body api.AuditVerification }{out}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "export-audit", Method: http.MethodGet, Path: "/v1/audit/export", Summary: "The audit log as a file, the oldest first", Tags: tags,
	}, s.export)
}

// verify follows the chain from its beginning.
func (s *routes) verify(ctx context.Context, known string) (api.AuditVerification, error) {
	var out api.AuditVerification
	var must audit.Head
	if known != "" {
		var ok bool
		if must, ok = wire.Head(known); !ok {
			return out, problem.BadValue("head", known, "is not SEQ:HASH", "write what muster audit verify has printed before")
		}
	}
	written, err := s.Store.AuditHead(ctx) // first: what is written meanwhile is beyond it
	if err != nil {
		return out, err
	}
	broken := func(b *audit.Broken) (api.AuditVerification, error) {
		out.Broken = &api.BrokenEntry{Seq: b.Seq, Problem: b.Problem}
		return out, nil
	}
	at := audit.Head{}
	for at.Seq < written.Seq {
		some, err := s.Store.Audit(ctx, store.AuditQuery{After: at.Seq, Before: written.Seq + 1, Limit: auditChunk})
		if err != nil {
			return out, err
		}
		for i := range some {
			e := &some[i]
			if b := audit.Follow(e, at); b != nil {
				return broken(b)
			}
			if e.Seq == must.Seq && e.Hash != must.Hash {
				return broken(&audit.Broken{Seq: e.Seq, Problem: "its hash is not the one that was noted elsewhere: the log was written anew"})
			}
			at = audit.Head{Seq: e.Seq, Hash: e.Hash}
			out.Entries, out.Head = at.Seq, wire.HeadText(at)
		}
		if len(some) < auditChunk {
			break
		}
	}
	if b := audit.Ends(at, written); b != nil {
		return broken(b)
	}
	if must.Seq > at.Seq {
		return broken(&audit.Broken{Seq: at.Seq + 1, Problem: "the log ends before the entry that was noted elsewhere"})
	}
	out.Intact = true
	return out, nil
}

func (s *routes) export(ctx context.Context, in *struct {
	Selection
	Format string `query:"format" enum:"csv,json,jsonl" default:"jsonl"`
}) (*huma.StreamResponse, error) {
	q := in.query()
	q.Limit = auditChunk
	first, err := s.Store.Audit(ctx, q)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, rw := humago.Unwrap(hc)
		w := bufio.NewWriter(rw)
		kind, put, end := "application/jsonl", jsonLines(w), ""
		switch in.Format {
		case "csv":
			kind, put = "text/csv; charset=utf-8", table(w)
		case "json":
			kind, put = "application/json", jsonList(w)
			if end = "]\n"; len(first) == 0 {
				end = "[]\n"
			}
		}
		rw.Header().Set("Content-Type", kind)
		for some := first; len(some) > 0; {
			for i := range some {
				if put(wire.AuditEntry(&some[i])) != nil {
					return // who asked has gone
				}
			}
			q.After = some[len(some)-1].Seq
			if len(some) < auditChunk {
				break
			}
			if some, err = s.Store.Audit(r.Context(), q); err != nil {
				panic(http.ErrAbortHandler) // a part must not look like the whole
			}
		}
		_, _ = w.WriteString(end)
		_ = w.Flush() // who asked may have gone
	}}, nil
}

func jsonLines(w *bufio.Writer) func(api.AuditEntry) error {
	e := json.NewEncoder(w)
	return func(x api.AuditEntry) error { return e.Encode(x) }
}

// jsonList writes a list, an entry to a line, which its end has to close.
func jsonList(w *bufio.Writer) func(api.AuditEntry) error {
	line, before := jsonLines(w), "["
	return func(x api.AuditEntry) error {
		if _, err := w.WriteString(before); err != nil {
			return err
		}
		before = ","
		return line(x)
	}
}

// table writes lines of a table; a text that a spreadsheet would take for a formula
// is marked as a text.
func table(w *bufio.Writer) func(api.AuditEntry) error {
	c := csv.NewWriter(w)
	plain := func(text string) string {
		if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@') {
			return "'" + text
		}
		return text
	}
	head := []string{"seq", "at", "actor", "token", "address", "action", "verb", "noun", "object", "result", "message", "changes", "previous", "hash"}
	err := c.Write(head)
	return func(x api.AuditEntry) error {
		if err != nil {
			return err
		}
		changes := ""
		if len(x.Changes) > 0 {
			data, err := json.Marshal(x.Changes)
			if err != nil {
				return err
			}
			changes = string(data)
		}
		err = c.Write([]string{strconv.FormatInt(x.Seq, 10), time.Time(x.At).UTC().Format(time.RFC3339Nano), plain(x.Actor), x.Token, x.Address, x.Action, x.Verb, x.Noun, plain(x.Object), x.Result, plain(x.Message), changes, x.Previous, x.Hash})
		c.Flush()
		return err
	}
}
