package spec

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// pieces make texts that emitters and readers of YAML get wrong.
var pieces = []string{
	"a", "Z", "0", "7", " ", "  ", ":", ": ", "#", " #", "-", "- ", "'", `"`, `\`, "\n", "\n\n", "\t", "\r", "\r\n", "{", "}", "[", "]", ",",
	"&", "*", "!", "|", ">", "%", "@", "`", "~", "null", "true", "yes", "no", "on", "1e5", "0x1F", "0o7", "007", ".5", "1_000", "12:30:45", "<<",
	"=", "?", "é", "日本", "😀", "\u0085", "\u2028", "\ufeff", "\u200b", "\x01", "\x7f", "---", "...", "$HOME", "2020-01-01", ".inf", "+1", "-0",
}

func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(6) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

func randomTexts(rng *rand.Rand) map[string]string {
	var m map[string]string
	for range rng.IntN(4) {
		if m == nil {
			m = map[string]string{}
		}
		m[randomText(rng)] = randomText(rng)
	}
	return m
}

func randomValue(rng *rand.Rand, depth int) any {
	switch rng.IntN(8) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return json.Number([]string{"0", "-7", "3.50", "1.0e+5", "-0.0", "123456789012345678901234567890", "2.5e-300"}[rng.IntN(7)])
	case 3, 4:
		list := []any{}
		for range rng.IntN(4) * depth {
			list = append(list, randomValue(rng, depth-1))
		}
		return list
	case 5:
		m := map[string]any{}
		for range rng.IntN(4) * depth {
			m[randomText(rng)] = randomValue(rng, depth-1)
		}
		return m
	default:
		return randomText(rng)
	}
}

// randomDocument is any document that could be written, with every field of
// the schema now and then; not all are valid.
func randomDocument(rng *rand.Rand) *Document {
	d := new(Document)
	randomFields(rng, root(), reflect.ValueOf(d).Elem())
	d.Kind = lifecycle.Kinds()[rng.IntN(4)]
	if rng.IntN(2) == 0 {
		d.Defaults()
	}
	return d
}

func randomFields(rng *rand.Rand, f *schema.Field, v reflect.Value) {
	for _, c := range f.Fields {
		fv := v.Field(c.Index)
		if rng.IntN(3) > 0 {
			continue
		}
		if c.Pointer {
			fv.Set(reflect.New(c.Typ))
			fv = fv.Elem()
		}
		randomField(rng, c, fv)
	}
}

func randomField(rng *rand.Rand, f *schema.Field, v reflect.Value) {
	switch f.Kind {
	case schema.Text:
		v.SetString(randomText(rng))
	case schema.Int:
		v.SetInt(rng.Int64N(4))
	case schema.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case schema.Texts:
		v.Set(reflect.ValueOf([]string{randomText(rng), randomText(rng)}[:1+rng.IntN(2)]))
	case schema.Ints:
		v.Set(reflect.ValueOf([]int{rng.IntN(300), -rng.IntN(3)}[:1+rng.IntN(2)]))
	case schema.TextMap:
		v.Set(reflect.ValueOf(randomTexts(rng)))
	case schema.Counts:
		v.Set(reflect.ValueOf(map[string]int{randomText(rng): rng.IntN(4), randomText(rng): rng.IntN(4)}))
	case schema.Parameters:
		p := Parameters{randomText(rng): randomValue(rng, 3)}
		for range rng.IntN(3) {
			p[randomText(rng)] = randomValue(rng, 3)
		}
		v.Set(reflect.ValueOf(p))
	case schema.Object:
		randomFields(rng, f, v)
		if g, ok := v.Addr().Interface().(*GPU); ok {
			g.complete() // what no document says is read as if it had been said
		}
	case schema.List:
		n := 1 + rng.IntN(3)
		v.Set(reflect.MakeSlice(f.Typ, n, n))
		for i := range n {
			randomFields(rng, f.Item, v.Index(i))
		}
	case schema.Scalar:
		switch s := v.Addr().Interface().(type) {
		case *Command:
			*s = ShellCommand("x" + randomText(rng))
			if rng.IntN(2) == 0 {
				*s = Command{Argv: []string{randomText(rng), randomText(rng)}}
			}
		case *Priority:
			*s = Priority(rng.IntN(1001))
		case *Share:
			*s = Share(1 + rng.IntN(999))
		case *ShareLimit:
			*s = ShareLimit(1 + rng.IntN(1000))
		case *MIG:
			*s = []MIG{"1g.5gb=1", "1g.5gb=3", "1g.10gb+me=1,3g.40gb=2"}[rng.IntN(3)]
		default:
			v.SetInt(rng.Int64N(codec.MaxInt64) >> rng.IntN(63))
		}
	}
}

func TestDocumentsComeBackFromTheirText(t *testing.T) {
	t.Parallel()
	seeds := uint64(3000)
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		d := randomDocument(rand.New(rand.NewPCG(seed, 7)))
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for form, text := range map[string][]byte{"YAML": YAML(d), "JSON": raw} {
			back, err := Parse(text)
			if err != nil {
				t.Fatalf("seed %d: %s: %v\n%s", seed, form, err, text)
			}
			back.zeros, d.zeros = 0, 0
			if !reflect.DeepEqual(d, back) {
				t.Fatalf("seed %d: %s:\n%s\ncame back as\n%s\n%+v\n%+v", seed, form, text, YAML(back), d, back)
			}
		}
		var stored Document
		if err := json.Unmarshal(raw, &stored); err != nil || !stored.Equal(d) {
			t.Fatalf("seed %d: json.Unmarshal: %v\n%s", seed, err, raw)
		}
	}
}

func TestWrittenZerosStay(t *testing.T) {
	t.Parallel()
	d := mustParse(t, "command: ls\npriority: 0\ngracePeriod: 0\nresources: {cpu: 0}\nretry: {backoff: 0, system: 0}\n")
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	stored := new(Document)
	if err := json.Unmarshal(raw, stored); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Document{"itself": d, "clone": d.Clone(), "YAML": mustParse(t, string(YAML(d))), "JSON": stored} {
		c.Defaults()
		if c.Priority != 0 || c.GracePeriod != 0 || c.Resources.CPU != 0 || c.Retry.Backoff != 0 || *c.Retry.System != 0 || c.Retry.MaxBackoff == 0 {
			t.Errorf("%s: %s", name, YAML(c))
		}
		if errs := Validate(c); errs != nil {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func TestStoredDocumentsOfLaterVersionsAreRead(t *testing.T) {
	t.Parallel()
	var d Document
	if err := json.Unmarshal([]byte(`{"command":"ls","invented":{"later":1},"resources":{"npu":1,"gpu":2}}`), &d); err != nil || d.Resources.GPU.Count != 2 {
		t.Errorf("%+v %v", d, err)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		d := randomDocument(rand.New(rand.NewPCG(seed, 3)))
		before := YAML(d)
		c := d.Clone()
		if !c.Equal(d) {
			t.Fatalf("seed %d: not equal", seed)
		}
		scribble(reflect.ValueOf(c).Elem())
		if !bytes.Equal(before, YAML(d)) {
			t.Fatalf("seed %d: the original changed", seed)
		}
	}
}

// scribble overwrites everything that can be reached from v, but for values
// inside Parameters.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		if !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf("scribbled"), reflect.Zero(v.Type().Elem()))
		}
	}
}

func TestParametersWrittenInGoAreKept(t *testing.T) {
	t.Parallel()
	d := &Document{Command: ShellCommand("ls"), Parameters: Parameters{
		"i": 3, "f": 0.5, "u": uint8(7), "list": []int{1, 2}, "map": map[string]float64{"lr": 1e-5}, "b": true,
	}}
	const want = "b: true\nf: 0.5\ni: 3\nlist:\n  - 1\n  - 2\nmap:\n  lr: 0.00001\nu: 7\n"
	if got := string(d.Parameters.YAML()); got != want && got != strings.Replace(want, "0.00001", "1.0e-05", 1) {
		t.Errorf("%s", got)
	}
	if errs := Validate(d); errs != nil {
		t.Error(errs)
	}
	d.Parameters["c"] = make(chan int)
	if errs := Validate(d); len(errs) != 1 || errs[0].Path != "parameters" {
		t.Error(errs)
	}
	if _, err := json.Marshal(d); err == nil {
		t.Error("a channel was written")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"command: ls\n", `{"command":["a","b"],"resources":{"gpu":{"count":1}}}`, "{command: ls}", "env: &a {A: 1}\nlabels: *a\n",
		"command: |\n  a\n  b\nparameters:\n  x: [1, {y: 2.5}]\n", "? a\n: b\n", "---\ncommand: 'a'\n...\n", "a: \"\\u00e9\\x41\"\n", "\tx",
		"secrets: [a, {name: b, env: B}]\nports: [80, {port: 81, name: x}]\nimage: i\n", "volumes:\n- path: /a\n  temporary: 4Gi\n- {path: /b, config: {f: \"1\\n2\\n\"}}\n",
		"retry: {rules: [{exitCodes: [42], action: retryFree}, {reasons: [OutOfMemory], action: fail}]}\n", "array: {grid: {lr: [0.1, 1e-3], m: [{a: 1}]}}\ncommand: ls\n",
		"integrations:\n- git: {repo: a/b, ssh: false}\n- pip:\n    packages: [x]\n", `{"kind":"inference","replicas":0,"autoscale":{"max":2,"concurrency":1},"probe":{"path":"/"},"update":{"maxSurge":0}}`,
		"publish: {model: out, serve: {command: ls, port: 80, resources: {cpu: 0}}}\nmaster: {resources: {gpu: 1}}\n", "resources: {gpu: 0.5}\n",
		`{"resources":{"gpu":{"count":2,"share":0.125}},"master":{"resources":{"gpu":{"memory":"8Gi"}}},"minWorkers":1,"resize":"live"}`,
		"resources: {gpu: {mig: {1g.10gb: 2, 3g.40gb: 1}}}\npatience: 5m\n", "resources: {gpu: {count: 0, share: 0.5}}\n", "resources: {gpu: {mig: \"1g.5gb=2\"}}\n",
		"pools: [a, b]\nnodeSelector: {zone: 1}\nnodeAffinity: [{key: k, op: Gt, values: [3]}]\nnodeType: dgx\ntolerations: [a, {effect: NoExecute}]\n",
		"topology: {required: a/b, preferred: c}\nnear: zone\napart: kubernetes.io/hostname\n", "- - - a", "%YAML 1.2\n---\na: b",
	} {
		f.Add([]byte(s))
	}
	for seed := range uint64(20) {
		f.Add(YAML(randomDocument(rand.New(rand.NewPCG(seed, 11)))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		_ = Validate(d)
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{YAML(d), raw} {
			back, err := Parse(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if !d.Equal(back) {
				t.Fatalf("%q\n%q", text, YAML(back))
			}
		}
		d.Defaults()
		once := YAML(d)
		d.Defaults()
		if !bytes.Equal(once, YAML(d)) {
			t.Fatalf("defaults twice: %s\n%s", once, YAML(d))
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"4", "500m", "1.5G", "16Gi", "1e3", "9.2P", "0.001", "-1", "1E"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuantity(s)
		if err != nil {
			return
		}
		if back, err := ParseQuantity(q.String()); err != nil || back != q || q < 0 {
			t.Fatalf("%q is %d, written %q, read %d %v", s, q, q, back, err)
		}
	})
}

func FuzzGPU(f *testing.F) {
	for _, s := range []string{"0.5", ".125", "5e-1", "1", "0.0001", "1g.10gb", "1g.10gb=2,3g.40gb+me=1", "1g.5gb=1,1g.5gb=1", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if x, err := ParseShare(s); err == nil {
			if back, err := ParseShare(x.String()); err != nil || back != x || x < 1 || x > 999 {
				t.Fatalf("%q is %d, written %q, read %d %v", s, x, x, back, err)
			}
		}
		if m, err := ParseMIG(s); err == nil {
			if back, err := ParseMIG(string(m)); err != nil || back != m || m.Partitions() < 1 {
				t.Fatalf("%q is %q, read %q %v", s, m, back, err)
			}
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"90s", "15m", "1h30m", "7d", "0", "1.5h", "250ms", "-1s", "5m3h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if back, err := ParseDuration(d.String()); err != nil || back != d || d < 0 {
			t.Fatalf("%q is %d, written %q, read %d %v", s, d, d, back, err)
		}
	})
}

var small = []byte(`{"kind":"training","name":"bench-1","project":"team-a","command":["python3","train.py","--lr","0.1"],"env":{"A":"1","B":"two"},"labels":{"team":"a"},"resources":{"cpu":"500m","memory":"1Gi","gpu":1},"retry":{"limit":2},"maxDuration":"1h"}`)

func BenchmarkParseJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(small); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(small); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalJSON(b *testing.B) {
	d, err := Load(small)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}
