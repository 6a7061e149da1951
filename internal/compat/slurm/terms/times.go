package terms

import (
	"fmt"
	"time"
)

// Unix is a time in seconds since 1970; 0 of none.
func Unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Clock is a length of time as [D-]HH:MM:SS.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if s >= 86400 {
		text = fmt.Sprintf("%d-%s", s/86400, text)
	}
	return text
}

// Span is a length of time as [D-][H:]MM:SS.
func Span(d time.Duration) string {
	s := int(d.Seconds())
	days, h, m := s/86400, s/3600%24, s/60%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, h, m, s%60)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s%60)
	default:
		return fmt.Sprintf("%d:%02d", m, s%60)
	}
}

// Instant is a time as Slurm writes it.
func Instant(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02T15:04:05")
}
