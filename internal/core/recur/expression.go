// Package recur decides at which times something comes again by a cron expression:
// what is due at a moment, what is next, and what is passed over and why. Times are
// those that the clocks of a time zone show: a time that the clocks skip when summer
// begins does not come, and one that they show twice comes twice, as with a CronJob
// of Kubernetes.
package recur

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Expression is a cron expression: minutes that are due.
type Expression struct {
	minutes, hours, days, months, weekdays uint64 // bit n: the number n is meant
	// anyDay and anyWeekday say that the field is '*'. Where neither is, a day is due
	// that is in one of both.
	anyDay, anyWeekday bool
}

// field is one of the five of an expression.
type field struct {
	name     string
	min, max int
	words    []string // the first stands for min
}

var (
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	fields   = []field{{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil}, {"month", 1, 12, months}, {"day of the week", 0, 7, weekdays}}
)

// shorthand are the words that stand for an expression.
var shorthand = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Problem is what is wrong with an expression, and what to do.
type Problem struct{ Message, Hint string }

func (p *Problem) Error() string { return p.Message + "; " + p.Hint }

func wrong(hint, format string, args ...any) *Problem {
	return &Problem{Message: fmt.Sprintf(format, args...), Hint: hint}
}

const example = `write minute, hour, day of the month, month and day of the week, such as "0 2 * * mon-fri", or a word like @daily`

// Parse reads an expression: five fields, each '*', numbers, names of months and days,
// ranges a-b, steps */n and a-b/n, and lists of these; or @hourly, @daily, @midnight,
// @weekly, @monthly, @yearly or @annually. It fails with a *Problem.
func Parse(text string) (*Expression, error) {
	parts := strings.Fields(text)
	if len(parts) == 0 {
		return nil, wrong(example, "is missing")
	}
	if word := strings.ToLower(parts[0]); word[0] == '@' {
		long, ok := shorthand[word]
		if !ok || len(parts) > 1 {
			return nil, wrong("allowed are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually", "%.60q is not a word that stands for an expression", text)
		}
		parts = strings.Fields(long)
	}
	if strings.Contains(parts[0], "=") {
		return nil, wrong("leave it out, and name the zone in timeZone", "%.60q begins with a setting", text)
	}
	if len(parts) != len(fields) {
		return nil, wrong(example, "%.60q has %d fields, not 5", text, len(parts))
	}
	var sets [5]uint64
	for i, f := range fields {
		var err error
		if sets[i], err = f.read(parts[i]); err != nil {
			return nil, err
		}
	}
	e := &Expression{minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4], anyDay: whole(parts[2]), anyWeekday: whole(parts[4])}
	if e.weekdays&(1<<7) != 0 { // Sunday has two numbers
		e.weekdays = e.weekdays&^(1<<7) | 1
	}
	if !e.comes() {
		return nil, wrong("name a day that one of the months has", "%.60q never comes: no such month has such a day", text)
	}
	return e, nil
}

// whole reports whether a field is one that restricts nothing.
func whole(text string) bool { return text == "*" || text == "?" || text == "*/1" }

// read are the numbers that a field stands for.
func (f field) read(text string) (uint64, error) {
	var set uint64
	for _, part := range strings.Split(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		from, to, err := f.span(span, stepped)
		if err != nil {
			return 0, err
		}
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 || n > 1000 {
				return 0, wrong("write a number above 0 after '/'", "%s %.40q: %.40q is not a step", f.name, text, stepText)
			}
			step = n
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

// span are the first and last number of a part of a field.
func (f field) span(text string, stepped bool) (from, to int, err error) {
	if text == "*" || text == "?" {
		to = f.max
		if f.max == 7 { // Sunday is there once
			to = 6
		}
		return f.min, to, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if from, err = f.number(first); err != nil {
		return 0, 0, err
	}
	to = from
	switch {
	case ranged:
		if to, err = f.number(last); err != nil {
			return 0, 0, err
		}
		if f.max == 7 && to == 0 && from > 0 { // such as fri-sun
			to = 7
		}
	case stepped:
		to = f.max
		if f.max == 7 {
			to = 6
		}
	}
	if to < from {
		return 0, 0, wrong("write the smaller one first, or two ranges divided by ','", "%s %.40q ends before it begins", f.name, text)
	}
	return from, to, nil
}

func (f field) number(text string) (int, error) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max || text[0] == '+' {
		allowed := fmt.Sprintf("write a number from %d to %d", f.min, f.max)
		if f.words != nil {
			allowed += ", or " + f.words[0] + " to " + f.words[len(f.words)-1]
		}
		return 0, wrong(allowed, "%s %.40q is not one that there is", f.name, text)
	}
	return n, nil
}

// comes reports whether there is a day that e means.
func (e *Expression) comes() bool {
	if e.anyDay || !e.anyWeekday {
		return true
	}
	longest := []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	for m, days := range longest {
		if e.months&(1<<(m+1)) != 0 && e.days&(1<<(days+1)-1) != 0 {
			return true
		}
	}
	return false
}
