package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
)

const (
	// searchFor is how long one search goes on before it says how far it came.
	searchFor = 2 * time.Second
	// excerptLength is how much of a line is shown where something was found.
	excerptLength = 500
)

type searchInput struct {
	ChosenLogs
	Query  string `query:"q" minLength:"1" maxLength:"500" required:"true" doc:"What is looked for; large and small letters are the same"`
	Regexp bool   `query:"regexp" doc:"q is a regular expression (RE2)"`
	After  string `query:"after" maxLength:"16000" doc:"next of the search that this one goes on from"`
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" default:"1000"`
}

func (s *routes) searchRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "search-logs", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/logs/search", Tags: []string{"workloads"},
		Summary:     "Lines of the output of tasks in which something is found, as they are seen: without colours",
		Description: "It ends after two seconds, or limit lines; next goes on from there.",
	}, func(ctx context.Context, in *searchInput) (*struct{ Body api.LogHits }, error) {
		hits, err := s.search(ctx, in)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &struct{ Body api.LogHits }{hits}, nil
	})
}

func (s *routes) search(ctx context.Context, in *searchInput) (api.LogHits, error) {
	out := api.LogHits{Hits: []api.LogLine{}}
	find, err := finder(in.Query, in.Regexp)
	if err != nil {
		return out, err
	}
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return out, err
	}
	attempt, err := reader.AttemptFor(w, in.Attempt)
	if err != nil {
		return out, err
	}
	ranks, _, err := s.picked(ctx, w, attempt, in.Tasks)
	if err != nil {
		return out, err
	}
	if ranks, err = each(ranks, func(r *rank) error { return s.where(ctx, r, backend.LogOptions{}) }); err != nil {
		return out, err
	}
	ends := make([]int64, len(ranks))
	for i, r := range ranks {
		ends[i] = r.at
		out.Total += r.at
		r.at = 0
	}
	if in.After != "" {
		if err := place(ranks, "after", in.After); err != nil {
			return out, err
		}
	}
	stamp := 0
	if len(ranks) > 1 { // one log is in order without times, which cost more than the search
		stamp = api.LogTimeWidth
	}
	ctx, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	for i, r := range ranks {
		if r.at < ends[i] && len(out.Hits) < in.Limit && ctx.Err() == nil {
			if err := s.searchOne(ctx, r, ends[i], stamp, find, in.Limit, &out); err != nil {
				return out, err
			}
		}
		if r.at < ends[i] {
			out.Next = "more"
		}
		out.Scanned += min(r.at, ends[i])
	}
	if out.Next != "" {
		out.Next = cursor(ranks)
	}
	return out, nil
}

// searchOne searches an output from where it is to an end.
func (s *routes) searchOne(ctx context.Context, r *rank, end int64, stamp int, find func([]byte) bool, limit int, out *api.LogHits) error {
	body, err := s.openLogs(ctx, r.id, backend.LogOptions{Tail: -1, Offset: r.at, Times: stamp > 0})
	if err != nil {
		return err
	}
	defer body.Close()
	in := bufio.NewReaderSize(body, 256<<10)
	for n := 0; r.at < end && len(out.Hits) < limit; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil
		}
		part, err := in.ReadSlice('\n')
		size := int64(len(part)) - int64(stamp)
		if size > 0 && find(part[stamp:]) {
			out.Hits = append(out.Hits, hit(r, stamp, part))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of what is longer than any line should be
			part, err = in.ReadSlice('\n')
			size += int64(len(part))
		}
		r.at += max(size, 0)
		if errors.Is(err, io.EOF) || size < 0 {
			r.at = max(r.at, end)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hit(r *rank, stamp int, line []byte) api.LogLine {
	at, _ := time.Parse(backend.TimeLayout, string(line[:stamp]))
	text := bytes.TrimRight(line[stamp:], "\r\n")
	if len(text) > excerptLength {
		text = text[:excerptLength]
	}
	return api.LogLine{Task: r.id.Index, Run: r.id.Run, Offset: r.at, At: api.Time(at), Text: strings.ToValidUTF8(string(text), "\uFFFD")}
}

var escapes = regexp.MustCompile(`\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_=>()#%*+][0-9A-Za-z]?)`)

// finder tells whether something is found in a line as it is seen.
func finder(query string, expression bool) (func([]byte) bool, error) {
	seen := func(line []byte) []byte {
		if bytes.IndexByte(line, 0x1b) >= 0 {
			return escapes.ReplaceAll(line, nil)
		}
		return line
	}
	if expression {
		re, err := regexp.Compile("(?i)" + query)
		if err != nil {
			return nil, problem.BadValue("q", query, "is no regular expression: "+err.Error(), "see https://github.com/google/re2/wiki/Syntax")
		}
		return func(line []byte) bool { return re.Match(bytes.TrimRight(seen(line), "\r\n")) }, nil
	}
	small := []byte(strings.ToLower(query))
	if strings.ContainsFunc(query, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return func(line []byte) bool { return bytes.Contains(bytes.ToLower(seen(line)), small) }, nil
	}
	var lowered []byte
	return func(line []byte) bool {
		line = seen(line)
		lowered = append(lowered[:0], line...)
		for i, c := range lowered {
			if 'A' <= c && c <= 'Z' {
				lowered[i] = c + 'a' - 'A'
			}
		}
		return bytes.Contains(lowered, small)
	}, nil
}
