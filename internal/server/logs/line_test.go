package logs

import (
	"bufio"
	"strings"
	"testing"
)

func TestOfAnEndlessLineTheBeginningIsKept(t *testing.T) {
	t.Parallel()
	r := bufio.NewReaderSize(strings.NewReader("short\n"+strings.Repeat("x", 100_000)+"\nnext\n"+strings.Repeat("y", 100)), 64)
	var got []int
	for {
		line, err := lineOf(r)
		got = append(got, len(line))
		if err != nil {
			break
		}
	}
	if len(got) != 4 || got[0] != 6 || got[1] != 64 || got[2] != 5 || got[3] != 64 {
		t.Errorf("lines of %d bytes", got)
	}
}
