package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// fewRows is how far a probe counts: a way with fewer rows than this is cheap
// to walk to its end, whatever the other filters leave of it.
const fewRows = 2000

// way is one order in which a listing may look at workloads.
type way struct {
	index  string // of workloads; empty: the table itself, by Seq
	labels bool   // by the table of labels instead
	// where is what the index answers.
	where func(t *statement) string
	// column has one of parts: each is a walk of its own, in the order of Seq,
	// and the walks are merged. Without parts there is one walk.
	column string
	parts  []string
}

// byAge is the way of a listing without filters, and of filters that leave
// most rows.
func byAge(q store.Query) way {
	if q.Deleted {
		return way{}
	}
	return way{index: "workloads_present"}
}

// ways lists the indexes that answer a part of q, the most telling first.
func ways(q store.Query) []way {
	var all []way
	equal := func(index, column, value string) {
		if value != "" {
			all = append(all, way{index: index, where: func(t *statement) string { return column + " = " + t.arg(value) }})
		}
	}
	among := func(index, column string, values []string) {
		if len(values) > 0 {
			all = append(all, way{index: index, column: column, parts: slices.Compact(slices.Sorted(slices.Values(values))),
				where: func(t *statement) string { return in(t, column, values) }})
		}
	}
	for _, label := range slices.Sorted(maps.Keys(q.Labels)) {
		all = append(all, way{labels: true, where: func(t *statement) string {
			return "l.name = " + t.arg(cleanLabel(label)) + " AND l.value = " + t.arg(cleanLabel(q.Labels[label]))
		}})
	}
	if q.Prefix != "" && !q.Deleted {
		all = append(all, way{index: "workloads_name", where: func(t *statement) string { return prefixed(t, q.Prefix) }})
	}
	equal("workloads_user", "w.user_name", clean(q.User))
	equal("workloads_project", "w.project", clean(q.Project))
	among("workloads_phase", "w.phase", texts(q.Phases))
	among("workloads_kind", "w.kind", texts(q.Kinds))
	if q.Live {
		all = append(all, way{index: "workloads_live", where: func(*statement) string { return "w.live = 1" }})
	}
	if !q.Since.IsZero() || !q.Before.IsZero() {
		all = append(all, way{index: "workloads_created", where: func(t *statement) string { return created(t, q) }})
	}
	return all
}

// chooseWay counts a little along every way. Guessing from a fixed order would
// walk a million rows for "my failed ones" of somebody who never failed.
func (s *Store) chooseWay(ctx context.Context, q store.Query) (way, error) {
	all := ways(q)
	if len(all) == 1 && all[0].ordered() {
		return all[0], nil // it is better than none, however many it has
	}
	best, fewest := byAge(q), fewRows
	for _, w := range all {
		var count int
		t := w.probe(q, s.dialect)
		if err := s.readers.QueryRowContext(ctx, t.String(), t.args...).Scan(&count); err != nil {
			return best, err
		}
		if count < fewest {
			best, fewest = w, count
		}
	}
	if fewest < fewRows {
		return best, nil
	}
	// Every filter leaves many. Going by one of them is still right where its
	// index is in the order of the listing.
	for _, w := range all {
		if w.ordered() {
			return w, nil
		}
	}
	return best, nil
}

// ordered reports whether walking w backwards yields workloads newest first.
func (w way) ordered() bool { return w.index != "workloads_name" && w.index != "workloads_created" }

func (w way) probe(q store.Query, d dialect) *statement {
	t := new(statement)
	from := w.from(d)
	if w.labels {
		from = "labels l"
	}
	where := w.where(t)
	if w.index == "workloads_name" {
		where += " AND w.deleted = 0" // the index has no others
	}
	t.WriteString("SELECT COUNT(*) FROM (SELECT 1 FROM " + from + " WHERE " + where + " LIMIT " + t.arg(int64(fewRows)) + ") p")
	return t
}

func (w way) from(d dialect) string {
	switch {
	case w.labels:
		return "labels l CROSS JOIN workloads w"
	case w.index == "":
		return "workloads w"
	default:
		return "workloads w" + d.use(w.index)
	}
}

// listing is the page of q by way w. The inner query finds the numbers of the
// page in indexes; only its rows are read as a whole.
func (w way) listing(q store.Query, d dialect, limit int) *statement {
	t := new(statement)
	t.WriteString("SELECT " + columns + " FROM (")
	parts := w.parts
	if len(parts) == 0 {
		parts = []string{""}
	}
	for i, part := range parts {
		if i > 0 {
			t.WriteString(" UNION ALL ")
		}
		var conditions []string
		if w.labels {
			conditions = append(conditions, "w.seq = l.seq", w.where(t))
		}
		if w.column != "" {
			conditions = append(conditions, w.column+" = "+t.arg(part))
		}
		conditions = append(conditions, filters(t, q)...)
		seq := "w.seq"
		if w.labels {
			seq = "l.seq" // the same, but the engine must see that it is in order
		}
		t.WriteString("SELECT " + seq + " AS seq FROM " + w.from(d))
		if len(conditions) > 0 {
			t.WriteString(" WHERE " + strings.Join(conditions, " AND "))
		}
	}
	t.WriteString(" ORDER BY seq DESC LIMIT " + t.arg(int64(limit)) + ") p CROSS JOIN workloads w CROSS JOIN specs s " +
		"WHERE w.seq = p.seq AND s.seq = p.seq ORDER BY p.seq DESC")
	return t
}
