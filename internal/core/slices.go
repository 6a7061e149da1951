package core

import (
	"strconv"
	"strings"
)

// Milli is how many thousandths of devices t was given, as quotas count them:
// whole devices, parts, and partitions by their slices.
func (t *Task) Milli() int64 { return Milli(t.Devices, t.Counted) }

// Milli is how many thousandths of devices somebody has who has parts of devices,
// and what is counted by name.
func Milli(devices []Share, counted string) int64 {
	sum := Slices(counted)
	for _, d := range devices {
		sum += max(0, int64(d.Milli))
	}
	return sum
}

// Slices is how many thousandths of devices partitions count for; counted are
// they, and whatever else is counted by name, as NAME=COUNT with commas.
func Slices(counted string) int64 {
	var sum int64
	for part := range strings.SplitSeq(counted, ",") {
		name, count, _ := strings.Cut(part, "=")
		if n, err := strconv.ParseInt(count, 10, 32); err == nil {
			sum += SlicesOf(name) * n
		}
	}
	return sum
}

// SlicesOf is how many thousandths of a device a partition counts for: one
// device for each compute slice in its name (mig-2g.10gb: 2). What is counted
// and no partition counts for none.
func SlicesOf(profile string) int64 {
	if strings.Contains(profile, "/") {
		return 0 // an extended resource, whatever it is called
	}
	name := profile[strings.LastIndex(profile, "-")+1:]
	n := int64(0)
	for i, c := range name {
		if c < '0' || c > '9' {
			if !strings.HasPrefix(name[i:], "g.") {
				return 0
			}
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n * 1000
}
