package ledger

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/spec"
)

// Spares reports whether just the room that h had is free, where no less may
// be left than was before.
func (v *View) Spares(h *Hold, debt *View) bool {
	if debt == nil {
		debt = &noDebt
	}
	if !v.Guests.Admits(h.Ask.Alone()) || v.Pods-1 < min(debt.Pods, 0) || h.Cpu > 0 && v.Cpu-h.Cpu < min(debt.Cpu, 0) || h.Mem > 0 && v.Mem-h.Mem < min(debt.Mem, 0) {
		return false
	}
	for _, d := range h.Devs {
		if low := int32(0); v.Dev[d] < h.Milli {
			if debt.Dev != nil {
				low = min(debt.Dev[d], 0)
			}
			if v.Dev[d]-h.Milli < low {
				return false
			}
		}
	}
	for _, w := range h.Ask.Migs {
		if i := slices.Index(h.Site.Migs, w.Name); i >= 0 && v.Mig[i] < w.Count {
			if debt.Mig == nil || v.Mig[i]-w.Count < min(debt.Mig[i], 0) {
				return false
			}
		}
	}
	return true
}

var noDebt View

// View is free room.
type View struct {
	Cpu, Mem int64
	Pods     int64
	whole    int32 // devices that are wholly free
	Sum      int64 // free thousandths of all devices
	Dev      []int32
	Mig      []int32
	parts    []int16 // by device: how many have a share of it, and not all
	Guests   guests
}

// Fits reports whether one task of a has room in this view of s.
func (v *View) Fits(s *Site, a *Ask) bool {
	n := &a.Need
	switch {
	case !s.Fit || n.Never || n.CPU > 0 && v.Cpu < n.CPU || n.Memory > 0 && v.Mem < n.Memory || v.Pods < 1:
		return false
	case a.Migs != nil && !v.fitsMIG(s, a):
		return false
	case !v.Guests.Admits(a.Alone()) || a.Alone() != "" && s.Foreign():
		return false
	case n.Devices == 0:
		return true
	}
	m := s.Milli(a)
	if m >= 1000 && (int(v.whole) < n.Devices || n.Type == "" || !s.mixed) {
		return m == 1000 && int(v.whole) >= n.Devices && spec.OfType(s.product, s.memory, n.Type)
	}
	return v.count(s, a, m) >= n.Devices
}

func (v *View) fitsMIG(s *Site, a *Ask) bool {
	if s.Legacy > 0 && a.Slices > 0 {
		return false
	}
	for _, w := range a.Migs {
		i := slices.Index(s.Migs, w.Name)
		if i < 0 || v.Mig[i] < w.Count {
			return false
		}
	}
	return true
}

// count is how many devices have m free.
func (v *View) count(s *Site, a *Ask, m int32) int {
	k := 0
	for d := range v.Dev {
		if v.Dev[d] >= m && s.Is(d, a.Need.Type) {
			k++
		}
	}
	return k
}

// Move moves what a hold takes out of a view (sign -1), or back into it (1).
func (v *View) Move(h *Hold, sign int64) {
	n := &h.Ask.Need
	v.Cpu += sign * h.Cpu
	v.Mem += sign * h.Mem
	v.Pods += sign
	v.Guests.move(h, sign)
	for _, d := range h.Devs {
		was := v.Dev[d]
		if h.Milli < 1000 {
			v.parts[d] -= int16(sign)
		}
		v.Dev[d] += int32(sign) * h.Milli
		v.Sum += int64(max(v.Dev[d], 0) - max(was, 0)) // of what is given twice or broken, nothing
		if was == 1000 {
			v.whole--
		} else if v.Dev[d] == 1000 {
			v.whole++
		}
	}
	if n.Extended != "" {
		for _, w := range h.Ask.Migs {
			if i := slices.Index(h.Site.Migs, w.Name); i >= 0 {
				v.Mig[i] += int32(sign) * w.Count
			}
		}
	}
}

// left is what is free, partitions aside. Where more is given than there is,
// nothing is.
func (v *View) left() quota.Amounts {
	return quota.Amounts{quota.GPU: v.Sum, quota.CPU: max(v.Cpu, 0), quota.Memory: max(v.Mem, 0)}
}
