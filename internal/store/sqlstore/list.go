package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/store"
)

// usualPage is the size of a page that asks for none.
const usualPage = 100

// List implements store.Store. Pages follow Seq downwards, so workloads that
// are submitted meanwhile change no later page.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := s.list(ctx, q)
	return page, s.fail("listing workloads", err)
}

func (s *Store) list(ctx context.Context, q store.Query) (store.Page, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = usualPage
	}
	way, err := s.chooseWay(ctx, q)
	if err != nil {
		return store.Page{}, err
	}
	l := way.listing(q, s.dialect, limit+1) // one more tells whether another page follows
	rows, err := s.readers.QueryContext(ctx, l.String(), l.args...)
	items, err := collect(rows, err, scanWorkloads)
	if err != nil {
		return store.Page{}, err
	}
	page := store.Page{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = items[limit-1].Seq
	}
	return page, nil
}

// statement is SQL with its arguments.
type statement struct {
	strings.Builder
	args []any
}

// arg adds an argument and returns its placeholder.
func (t *statement) arg(v any) string {
	t.args = append(t.args, v)
	return "$" + strconv.Itoa(len(t.args))
}

// in is "column IN (…)".
func in[T ~string](t *statement, column string, values []T) string {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = t.arg(string(v))
	}
	return column + " IN (" + strings.Join(marks, ", ") + ")"
}

// filters are all conditions of q, on workloads w.
func filters(t *statement, q store.Query) []string {
	var all []string
	add := func(on bool, condition func() string) {
		if on {
			all = append(all, condition())
		}
	}
	add(!q.Deleted, func() string { return "w.deleted = 0" })
	add(q.Cursor > 0, func() string { return "w.seq < " + t.arg(q.Cursor) })
	add(q.Project != "", func() string { return "w.project = " + t.arg(clean(q.Project)) })
	add(q.User != "", func() string { return "w.user_name = " + t.arg(clean(q.User)) })
	add(len(q.Kinds) > 0, func() string { return in(t, "w.kind", texts(q.Kinds)) })
	add(len(q.Phases) > 0, func() string { return in(t, "w.phase", texts(q.Phases)) })
	add(q.Live, func() string { return "w.live = 1" })
	add(q.Prefix != "", func() string { return prefixed(t, q.Prefix) })
	add(!q.Since.IsZero() || !q.Before.IsZero(), func() string { return created(t, q) })
	for _, label := range slices.Sorted(maps.Keys(q.Labels)) {
		all = append(all, "EXISTS (SELECT 1 FROM labels x WHERE x.name = "+t.arg(cleanLabel(label))+
			" AND x.value = "+t.arg(cleanLabel(q.Labels[label]))+" AND x.seq = w.seq)")
	}
	return all
}

func created(t *statement, q store.Query) string {
	var all []string
	if !q.Since.IsZero() {
		all = append(all, "w.created_us >= "+t.arg(ceiling(q.Since)))
	}
	if !q.Before.IsZero() {
		all = append(all, "w.created_us < "+t.arg(ceiling(q.Before)))
	}
	return strings.Join(all, " AND ")
}

// ceiling is the first stored instant that is not before t.
func ceiling(t time.Time) int64 { return t.Add(time.Microsecond - time.Nanosecond).UnixMicro() }

// prefixed is a range, because LIKE has wildcards and ignores case.
func prefixed(t *statement, prefix string) string {
	prefix = clean(prefix)
	condition := "w.name >= " + t.arg(prefix)
	if after := afterPrefix(prefix); after != "" {
		condition += " AND w.name < " + t.arg(after)
	}
	return condition
}

// afterPrefix is the least text greater than every text that begins with p;
// empty when there is none.
func afterPrefix(p string) string {
	for p != "" {
		r, size := utf8.DecodeLastRuneInString(p)
		p = p[:len(p)-size]
		switch {
		case r == utf8.MaxRune: // the rune before it must grow
		case r == 0xD7FF: // what follows is no character
			return p + "\uE000"
		default:
			return p + string(r+1)
		}
	}
	return ""
}

func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = clean(v)
	}
	return all
}
