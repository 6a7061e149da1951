package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schema is what a value of the API is like, as far as its description is used here.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a text, or several
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Additional any                `json:"additionalProperties"`
	Enum       []any              `json:"enum"`
	Format     string             `json:"format"`
	Required   []string           `json:"required"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
}

// operation is one of the API's.
type operation struct {
	method, path string
	params       []param
	body         *schema
	media        []string
}

type param struct {
	Name   string  `json:"name"`
	In     string  `json:"in"`
	Schema *schema `json:"schema"`
}

// hostile makes requests that nobody honest makes, out of the API's own description and
// of a seed.
type hostile struct {
	*rand.Rand
	operations []operation
	schemas    map[string]*schema
	names      []string // of things that are there
	mild       bool     // little of the present request is wrong, so that some are done
}

func newHostile(t *testing.T, described []byte, seed uint64, names []string) *hostile {
	t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			Parameters  []param `json:"parameters"`
			RequestBody struct {
				Content map[string]struct {
					Schema *schema `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(described, &d); err != nil {
		t.Fatal(err)
	}
	h := &hostile{Rand: rand.New(rand.NewPCG(seed, 7)), schemas: d.Components.Schemas, names: names}
	for path, methods := range d.Paths {
		for method, o := range methods {
			op := operation{method: strings.ToUpper(method), path: path, params: o.Parameters}
			for media, c := range o.RequestBody.Content {
				op.media, op.body = append(op.media, media), c.Schema
			}
			slices.Sort(op.media)
			h.operations = append(h.operations, op)
		}
	}
	slices.SortFunc(h.operations, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	if len(h.operations) < 150 {
		t.Fatalf("the description has %d operations only", len(h.operations))
	}
	return h
}

// attack is a request.
type attack struct {
	op      operation
	method  string
	path    string // with its query, escaped
	header  map[string]string
	body    []byte
	cut     bool // the body ends before its announced length
	follows bool // an answer may go on for ever
}

func (a attack) String() string {
	body := string(a.body)
	if len(body) > 2000 {
		body = body[:2000] + "…"
	}
	return fmt.Sprintf("%s %s %v %q (cut: %v)", a.method, a.path, a.header, body, a.cut)
}

// one in n.
func (h *hostile) one(n int) bool { return h.IntN(n) == 0 }

// seldom is how many times seldomer something is in a mild request.
func (h *hostile) seldom(n int) int {
	if h.mild {
		return n * 8
	}
	return n
}

// likely are values of members that are right where they stand most of the time.
var likely = map[string]func(*hostile) string{
	"name":        func(h *hostile) string { return fmt.Sprintf(`"n%d"`, h.IntN(8)) },
	"project":     func(h *hostile) string { return pick(h, `"vision"`, `"default"`) },
	"parent":      func(*hostile) string { return `"research"` },
	"scope":       func(h *hostile) string { return pick(h, `"vision"`, `"-"`) },
	"subject":     func(*hostile) string { return `"user:person3"` },
	"role":        func(h *hostile) string { return pick(h, `"viewer"`, `"l1-researcher"`) },
	"permissions": func(h *hostile) string { return pick(h, `["read:workloads"]`, `["read:nodes","update:trainings:own"]`) },
	"user":        func(h *hostile) string { return pick(h, `"person3"`, `"person4"`) },
	"type":        func(h *hostile) string { return pick(h, `"env"`, `"mounted"`) },
	"values":      func(*hostile) string { return `{"value":"dg=="}` },
	"webhook":     func(*hostile) string { return `"http://127.0.0.1:1/"` },
	"total":       func(h *hostile) string { return pick(h, "1", "5") },
	"cron":        func(h *hostile) string { return pick(h, `"0 3 * * *"`, `"@daily"`) },
	"document":    func(*hostile) string { return `{"command":["fake"]}` },
	"workload":    func(h *hostile) string { return pick(h, `"waits"`, `{"command":["fake"]}`) },
	"key":         func(*hostile) string { return `"tier"` },
	"effect":      func(*hostile) string { return `"NoSchedule"` },
	"duration":    func(*hostile) string { return `"1h"` },
	"priority":    func(h *hostile) string { return pick(h, "1", "100", `"high"`) },
}

func pick[T any](h *hostile, all ...T) T { return all[h.IntN(len(all))] }

// next makes a request for the n-th operation in turn.
func (h *hostile) next(n int) attack {
	a := attack{op: h.operations[n%len(h.operations)], header: map[string]string{}}
	a.method, h.mild = a.op.method, h.one(3)
	if h.one(20) {
		a.method = pick(h, "GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "get", "X")
	}
	path, query := a.op.path, []string(nil)
	for _, p := range a.op.params {
		switch p.In {
		case "path":
			name := h.name()
			if h.mild && !h.one(10) {
				name = h.there(path, p.Name)
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", escaped(name))
		case "query":
			if h.one(3) {
				query = append(query, url.QueryEscape(p.Name)+"="+h.queryValue(p.Schema))
				a.follows = a.follows || p.Name == "follow"
			}
			if h.one(40) {
				query = append(query, url.QueryEscape(p.Name)+"="+h.queryValue(p.Schema)) // twice
			}
		case "header":
			if h.one(2) {
				a.header[p.Name] = clean(h.text())
			}
		}
	}
	if h.one(30) {
		query = append(query, pick(h, "%zz=1", "a=%zz", "a;b=1", "&&&=", "unknown="+h.queryValue(&schema{}), strings.Repeat("x=1&", 2000)))
	}
	if h.one(60) {
		path = pick(h, path+"/", "/"+path, path+"/..", path+"/%2e%2e/%2e%2e/etc/passwd", strings.Replace(path, "/v1/", "/v1/./", 1), path+":stop", path+"%00")
	}
	a.path = path
	if len(query) > 0 {
		a.path += "?" + strings.Join(query, "&")
	}
	for k, v := range map[string]string{"Accept": "application/xml", "If-Match": "*", "If-None-Match": `"` + h.text() + `"`, "Range": "bytes=0-99999999999999999999", "X-Forwarded-For": "127.0.0.1", "Accept-Encoding": "gzip, br", "X-HTTP-Method-Override": "DELETE"} {
		if h.one(50) {
			a.header[k] = clean(v)
		}
	}
	if a.op.body != nil && !h.one(30) || h.one(20) {
		a.header["Content-Type"] = "application/json"
		if len(a.op.media) > 0 && !h.one(8) {
			a.header["Content-Type"] = pick(h, a.op.media...)
		}
		if h.one(20) {
			a.header["Content-Type"] = pick(h, "text/plain", "application/xml", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/yaml", "", ";;", "application/x-www-form-urlencoded", strings.Repeat("a", 3000), "application/json, text/html")
		}
		if h.one(40) {
			a.header["Content-Encoding"] = pick(h, "gzip", "br", "identity")
		}
		a.body = h.bodyOf(a.op.body)
		a.cut = h.one(40)
	}
	return a
}

// clean makes a text a value of a header, as far as a client may send it at all.
func clean(s string) string {
	if len(s) > 4000 {
		s = s[:4000]
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, s))
}

// escaped is a segment of a path, in which dots of their own are escaped too.
func escaped(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2e")
	}
	return url.PathEscape(s)
}

// there is a name of something that a path may be about.
func (h *hostile) there(path, name string) string {
	switch {
	case name == "project":
		return pick(h, "vision", "vision", "vision", "default", "-")
	case strings.Contains(path, "/workloads/"):
		return pick(h, "runs", "runs", "waits", "n1", "n2")
	case strings.HasPrefix(path, "/v1/users/"):
		return pick(h, "person3", "n1", "n2", "n3")
	case strings.HasPrefix(path, "/v1/roles/"):
		return pick(h, "viewer", "n1", "n2", "n3")
	case strings.HasPrefix(path, "/v1/projects/{name}"):
		return pick(h, "vision", "audio", "n1", "n2", "n3")
	case strings.HasPrefix(path, "/v1/departments/"):
		return pick(h, "research", "n1", "n2")
	case strings.HasPrefix(path, "/v1/nodes/"):
		return "node-1"
	case strings.HasPrefix(path, "/v1/pools/"):
		return pick(h, "default", "n1", "n2")
	}
	return pick(h, "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7")
}

// name is mostly one of something that is there.
func (h *hostile) name() string {
	if !h.one(h.seldom(4)) {
		return pick(h, h.names...)
	}
	return pick(h, "..", ".", "../../../etc/passwd", "..\\..\\x", "a/b", "\x00", "a\x00b", "\xff\xfe", "é", "名前", "-", "--", "'; DROP TABLE workloads; --", "%", "%2f", "*", "?", "a b", "\n", "\r\nX: y",
		strings.Repeat("a", 64), strings.Repeat("b", 5000), "{name}", "${x}", "$(id)", "CON", "a:b", ":stop", "a:approve", "0", "-1", h.text()) + ""
}

// text is a text that is hard on somebody.
func (h *hostile) text() string {
	return pick(h, "", " ", "a", "\x00", "\x1b[31mred", "\u202etxt.exe", "\ufeff", "\xc3\x28", "\xed\xa0\x80", "a\nb", strings.Repeat("x", 1000), strings.Repeat("é", 20000), strings.Repeat("[", 3000),
		"null", "true", "-1", "1e999", "99999999999999999999", "0x10", "NaN", "Infinity", "1Gi", "-1Gi", "9999999999Ei", "1h", "-1h", "99999999h", "1e300h", "2026-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
		"* * * * *", "*/0 * * * *", "60 24 32 13 8", "Europe/../../etc/passwd", "{{.}}", "${PATH}", "<script>", "../../etc/passwd", "http://169.254.169.254/", "file:///etc/passwd", "a=b,c!=d", "phase in (", "(((((((((", "user:ann", "-", "default", "A,,B",
		"18446744073709551616", "-9223372036854775809", "1.5", "٣", "  x  ", "a\tb", strings.Repeat("a,", 3000), strings.Repeat("(", 50000), "not not not a", `"`, `\`, "%s%n%d")
}

// queryValue is a value of a parameter, escaped: right in one of three.
func (h *hostile) queryValue(s *schema) string {
	if h.one(3) {
		switch kindOf(s, h) {
		case "integer":
			return strconv.Itoa(pick(h, 0, 1, 5, 100, 1000))
		case "boolean":
			return pick(h, "true", "false")
		case "array":
			return pick(h, "a", "a,b", "team=nlp")
		}
		return url.QueryEscape(pick(h, append([]string{"a", "default", "Running", "training", "-"}, h.names...)...))
	}
	return url.QueryEscape(h.text())
}

// kindOf is the type of a schema, one of them where there are several.
func kindOf(s *schema, h *hostile) string {
	if s == nil {
		return ""
	}
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			name, _ := t[h.IntN(len(t))].(string)
			return name
		}
	}
	return ""
}

// bodyOf is a body: mostly one that is nearly what is asked for.
func (h *hostile) bodyOf(s *schema) []byte {
	switch h.IntN(h.seldom(25)) {
	case 0:
		return []byte(pick(h, "", "{", "[", "}", "null", "true", "0", `""`, "[]", "{}", "\x00", "\xff\xfe", "\ufeff{}", "{}{}", `{"a":1}garbage`, "'", "---\n---\n", "%YAML 9.9\n", "&a [*a]", "!!binary x", "{a: *b}", "\t- x", "<x/>", "a=b&c=d"))
	case 1: // as deep as a parser's stack
		n := pick(h, 100, 5000, 200_000)
		open, shut := pick(h, [2]string{"[", "]"}, [2]string{`{"a":`, "}"}, [2]string{`{"name":[`, "]}"})[0], ""
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(shut, n))
	case 2: // aliases of aliases
		var b strings.Builder
		b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
		for i := 1; i < pick(h, 4, 9, 30); i++ {
			fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
		}
		return []byte(b.String())
	}
	var b strings.Builder
	h.value(&b, s, 0)
	text := []byte(b.String())
	if len(text) > 0 && h.one(20) { // bytes that are others
		for range 1 + h.IntN(4) {
			text[h.IntN(len(text))] = byte(h.IntN(256))
		}
	}
	if h.one(30) {
		text = text[:h.IntN(len(text)+1)]
	}
	return text
}

// value writes a value that a schema allows, or one that it does not.
func (h *hostile) value(b *strings.Builder, s *schema, depth int) {
	if s != nil && s.Ref != "" {
		s = h.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if s == nil || h.one(h.seldom(12)) {
		h.wrong(b)
		return
	}
	if len(s.Enum) > 0 && !h.one(4) {
		text, _ := json.Marshal(pick(h, s.Enum...))
		b.Write(text)
		return
	}
	switch kind := kindOf(s, h); {
	case kind == "object" || s.Properties != nil:
		h.object(b, s, depth)
	case kind == "array":
		b.WriteByte('[')
		for i := range pick(h, 0, 1, 1, 2, 3) {
			if i > 0 {
				b.WriteByte(',')
			}
			h.value(b, s.Items, depth+1)
		}
		b.WriteByte(']')
	case kind == "boolean":
		b.WriteString(pick(h, "true", "false"))
	case (kind == "integer" || kind == "number") && h.mild:
		b.WriteString(pick(h, "0", "1", "2", "7"))
	case kind == "integer" || kind == "number":
		b.WriteString(pick(h, "0", "1", "2", "7", "100", "-1", "1e3", "4294967296", "9223372036854775807", "9223372036854775808", "1e400", "-0", "0.5", "1e-400"))
	case kind == "string" && h.mild:
		h.string(b, pick(h, append([]string{"a", "1Gi", "10m"}, h.names...)...))
	case kind == "string":
		if s.Format == "date-time" && !h.one(3) {
			b.WriteString(`"2030-01-02T03:04:05Z"`)
			return
		}
		h.string(b, pick(h, append([]string{"a", "1Gi", "10m", "user:" + pick(h, h.names...), h.text()}, h.names...)...))
	default: // whatever: a document
		b.WriteString(pick(h, `{"command":["fake"]}`, `{"name":"a","command":["fake","run=forever"],"resources":{"gpu":1}}`, `{"kind":"inference","command":["fake"],"scaling":{"replicas":-1}}`, `{"kind":"distributed","tasks":99999999,"command":["fake"]}`, `{"array":"0-999999999","command":["fake"]}`, `{}`))
	}
}

func (h *hostile) object(b *strings.Builder, s *schema, depth int) {
	b.WriteByte('{')
	n := 0
	member := func(name string, of *schema) {
		if n++; n > 1 {
			b.WriteByte(',')
		}
		h.string(b, name)
		b.WriteByte(':')
		if right, ok := likely[name]; ok && h.mild {
			b.WriteString(right(h))
			return
		}
		h.value(b, of, depth+1)
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if depth > 6 || !slices.Contains(s.Required, name) && !h.one(h.seldom(3)) || h.one(h.seldom(20)) {
			continue
		}
		member(name, s.Properties[name])
		if h.one(40) {
			member(name, s.Properties[name]) // twice
		}
	}
	if additional, ok := s.Additional.(map[string]any); ok && depth < 6 {
		text, _ := json.Marshal(additional)
		of := new(schema)
		if json.Unmarshal(text, of) == nil {
			for range h.IntN(3) {
				member(h.name(), of)
			}
		}
	}
	if h.one(h.seldom(15)) {
		member(pick(h, "unknown", "__proto__", "", "\x00", "$ref", "NAME", strings.Repeat("k", 2000), h.text()), nil)
	}
	b.WriteByte('}')
}

// wrong writes a value of some other sort.
func (h *hostile) wrong(b *strings.Builder) {
	switch h.IntN(9) {
	case 0:
		h.string(b, h.text())
	case 1:
		b.WriteString(strings.Repeat("9", pick(h, 20, 400, 50_000)))
	case 2:
		n := pick(h, 50, 3000)
		b.WriteString(strings.Repeat("[", n) + strings.Repeat("]", n))
	case 3:
		n := pick(h, 50, 3000)
		b.WriteString(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	case 4:
		b.WriteString("[" + strings.TrimSuffix(strings.Repeat("0,", pick(h, 10, 50_000)), ",") + "]")
	default:
		b.WriteString(pick(h, "null", "true", "-1", "0", "1e308", `""`, "[]", "{}", `{"a":1}`, "[null]", `"\ud800"`, `"\u0000"`, "NaN", "0x1", "'x'", "01", "1.", "-", "\"\x01\"", "\"\xff\""))
	}
}

// string writes a text as JSON has it, with bytes that are none of UTF-8 as they are.
func (h *hostile) string(b *strings.Builder, text string) {
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' && !h.one(10):
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
