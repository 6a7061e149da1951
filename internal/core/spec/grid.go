package spec

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// tooManyCells stands for every size of a grid that is larger than anybody
// could count.
const tooManyCells = maxInt64 >> 1

// cells is the number of combinations of a's grid: 0 where one of its lists is
// empty or none at all.
func (a *Array) cells() int {
	if len(a.Grid) == 0 {
		return 0
	}
	total, many := 1, false
	for _, values := range a.Grid {
		n := length(values)
		if n == 0 {
			return 0
		}
		if many = many || total > tooManyCells/n; !many {
			total *= n
		}
	}
	if many {
		return tooManyCells
	}
	return total
}

// Cell returns the values of one combination of the grid by their names. The
// last name, in alphabetical order, changes fastest. It is nil where there is
// no grid or no such combination; a may be nil.
func (a *Array) Cell(index int) map[string]any {
	if a == nil || index < 0 || index >= a.cells() {
		return nil
	}
	names := slices.Sorted(maps.Keys(a.Grid))
	cell := make(map[string]any, len(names))
	for _, name := range slices.Backward(names) {
		values := a.Grid[name]
		n := length(values)
		cell[name] = element(values, index%n)
		index /= n
	}
	return cell
}

// length is that of a list, 0 of everything else. Importers written in Go may
// have put typed lists there.
func length(list any) int {
	if l, ok := list.([]any); ok {
		return len(l)
	}
	if v := reflect.ValueOf(list); v.IsValid() && v.Kind() == reflect.Slice {
		return v.Len()
	}
	return 0
}

func element(list any, i int) any {
	if l, ok := list.([]any); ok {
		return l[i]
	}
	return reflect.ValueOf(list).Index(i).Interface()
}

// Variable is the name under which a parameter of a grid stands in the
// environment: in upper case, with '_' for everything but letters and digits.
func Variable(parameter string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x80 || !alnum(byte(r)):
			return '_'
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, parameter)
}

// Variables are the values of one combination of the grid as variables of the
// environment: texts as they are, the rest as JSON. It is nil where Cell is.
func (a *Array) Variables(index int) map[string]string {
	cell := a.Cell(index)
	if cell == nil {
		return nil
	}
	env := make(map[string]string, len(cell))
	for name, value := range cell {
		n, _ := nodeOf(value)
		if n.kind != nodeText {
			n.text = string(appendJSON(nil, &n))
		}
		env[Variable(name)] = n.text
	}
	return env
}
