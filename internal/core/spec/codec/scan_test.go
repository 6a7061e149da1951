package codec

import (
	"reflect"
	"strings"
	"testing"
)

// sameNodes fails where the scanner does not read what the reader of tokens
// reads, positions included, or refuses for another reason.
func sameNodes(t *testing.T, text string) {
	t.Helper()
	fast, err := ReadJSON([]byte(text))
	slow, wanted := readTokens([]byte(text))
	if (err == nil) != (wanted == nil) || err != nil && err.Error() != wanted.Error() {
		t.Errorf("%.80q: %v, wanted %v", text, err, wanted)
	} else if err == nil && !reflect.DeepEqual(fast, slow) {
		t.Errorf("%.80q:\n%+v, wanted\n%+v", text, fast, slow)
	}
}

func TestTheScannerReadsWhatTokensSay(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` { } `, `{"a":1}`, "{\n\t\"a\" : [ 1 , -2.5e+10 , true, false, null ] ,\r\n \"b\":{\"a\":{}}}\n",
		`"x"`, `12`, `null`, `true`, `{"a":1,"a":2}`, `{"":""}`, `{"\u0061\n":"\"\\\/\b\f\n\r\t\ud83d\ude00"}`,
		`{"a":"\ud83d"}`, "{\"a\":\"\xff\xfe\"}", "{\"\xff\":1}", `{"é":"日本"}`,
		``, ` `, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":01}`, `{"a":+1}`, `nul`, `{} {}`, `{}x`, `{"a":"\x"}`, "{\"a\":\"\n\"}",
		`{"a":1e400}`, strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1),
		"[" + strings.Repeat("1,", maxNodes-2) + "1]", "[" + strings.Repeat("1,", maxNodes-1) + "1]", "[" + strings.Repeat("[],", maxNodes-1) + "1]",
	} {
		sameNodes(t, text)
	}
}

func FuzzScanner(f *testing.F) {
	f.Add(`{"a":["\u00e9",-1.5e3,{"b":null}],"a":true}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<12 { // nested deeper than tokens are valid
			sameNodes(t, text)
		}
	})
}
