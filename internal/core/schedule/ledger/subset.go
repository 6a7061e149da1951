package ledger

import (
	"cmp"
)

// Subset is sites among which a place is sought, with their rankings.
type Subset struct {
	Pool  *Pool
	Sites []*Site
	Ranks map[*Ask]*Ranking
	news  []*Site         // sites that changed, in order
	base  int             // how many were dropped from the front of news
	Order map[*Site]int64 // sites to be used first; nil: all alike
	Late  bool            // sites that are free now come last
}

// Ranking is a heap of the sites that serve one ask, the best on top. A site
// that has changed gets a new entry beside its old one, which is dropped when it
// comes up.
type Ranking struct {
	items []rank
	at    int // how much of the subset's news it has seen
}

// rank is how well a site serves, as it was at that turn; lower is better.
type rank struct {
	first, second int64
	site          *Site
	turn          uint32
}

func (a *rank) less(b *rank) bool {
	if c := cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second)); c != 0 {
		return c < 0
	}
	return a.site.At < b.site.At
}

// Forget makes the subset rank anew.
func (sub *Subset) Forget() {
	clear(sub.Ranks)
	sub.base, sub.news = 0, sub.news[:0]
}

// Changed tells the rankings that a site is not as it was.
func (sub *Subset) Changed(s *Site) {
	if len(sub.Ranks) == 0 {
		return
	}
	sub.news = append(sub.news, s)
	if len(sub.news) > 4*len(sub.Sites)+1024 {
		n := len(sub.news) / 2
		sub.base += n
		sub.news = append(sub.news[:0], sub.news[n:]...)
	}
}

func (r *Ranking) push(x rank) {
	r.items = append(r.items, x)
	for i := len(r.items) - 1; i > 0; {
		up := (i - 1) / 2
		if !r.items[i].less(&r.items[up]) {
			return
		}
		r.items[i], r.items[up] = r.items[up], r.items[i]
		i = up
	}
}

func (r *Ranking) pop() {
	last := len(r.items) - 1
	r.items[0] = r.items[last]
	r.items = r.items[:last]
	r.down(0)
}

func (r *Ranking) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(r.items) {
			return
		}
		if c+1 < len(r.items) && r.items[c+1].less(&r.items[c]) {
			c++
		}
		if !r.items[c].less(&r.items[i]) {
			return
		}
		r.items[i], r.items[c] = r.items[c], r.items[i]
		i = c
	}
}
