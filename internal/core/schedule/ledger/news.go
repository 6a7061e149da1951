package ledger

// MostNews is how many changes a pool remembers at least, and fewNews how many
// those of one queue's.
const MostNews, fewNews = 1024, 256

// add notes that s has changed; of at least so many it is remembered.
func (n *News) add(s *Site, most int) {
	if k := len(n.sites); k > n.read && n.sites[k-1] == s {
		return
	}
	if len(n.sites) == 4*most {
		gone := 3 * most
		n.first += uint64(gone)
		n.sites, n.read = append(n.sites[:0], n.sites[gone:]...), max(n.read-gone, 0)
	}
	n.sites = append(n.sites, s)
}

// Changes is how many there were.
func (n *News) Changes() uint64 { return n.first + uint64(len(n.sites)) }

// Read is how many changes there were, all of which are known now.
func (n *News) Read() uint64 {
	n.read = len(n.sites)
	return n.Changes()
}

// Since are the sites that have changed since there were so many changes; false:
// that is too long ago.
func (n *News) Since(seen uint64) ([]*Site, bool) {
	if seen < n.first {
		return nil, false
	}
	return n.sites[seen-n.first:], true
}

// Note tells those who remember something of s that it has changed, by what one
// of a queue holds there, or did. What there is if some of a queue leave is
// otherwise only on sites where that has something.
func (p *Pool) Note(s *Site, leaf int32) {
	if !p.Watched {
		return
	}
	p.News.add(s, MostNews)
	if leaf >= 0 {
		p.Q[leaf].News.add(s, fewNews)
	}
	for _, h := range s.Holds {
		if q := h.Job.Leaf; q >= 0 && q != leaf {
			p.Q[q].News.add(s, fewNews)
		}
	}
}
