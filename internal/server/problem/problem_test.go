package problem

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// TestTheFrameworkSpeaksOfJSON and not of the program's types.
func TestTheFrameworkSpeaksOfJSON(t *testing.T) {
	for message, want := range map[string][2]string{
		"json: cannot unmarshal number 1e3 into Go struct field NewLicense.LicenseSpec.total of type int64": {"body.total", "found number 1e3, expected a whole number, written in digits, that is not too large"},
		"json: cannot unmarshal number 1e400 into Go value of type float64":                                 {"body", "found number 1e400, expected a number up to 1.7e308"},
		"json: cannot unmarshal bool into Go struct field Rules.idle.most of type string":                   {"body.idle.most", "found true or false, expected a text"},
		"json: cannot unmarshal object into Go struct field X.names of type []string":                       {"body.names", "found object, expected a list"},
		"json: cannot unmarshal string into Go value of type map[string]core.Quota":                         {"body", "found string, expected a mapping or another value"},
		"json: unknown field \"a\"": {"body", "unknown field \"a\""},
		"json: cannot unmarshal object into Go struct field Manifest.items of type []map[string]interface {}": {"body.items", "found object, expected a list"},
		"expected string": {"body", "expected string"},
		"json: cannot unmarshal number " + strings.Repeat("9", 3000) + " into Go value of type float64": {"body", "found number " + strings.Repeat("9", 40) + "…, expected a number up to 1.7e308"},
	} {
		p := Framework(422, "validation failed", &huma.ErrorDetail{Location: "body", Message: message}).(*api.Problem)
		if e := p.Errors[0]; e.Path != want[0] || e.Problem != want[1] || p.Detail != "validation failed: "+want[0]+" "+want[1] {
			t.Errorf("%.100s: %.300q %.300q, %.300q", message, e.Path, e.Problem, p.Detail)
		}
	}
}

// TestAWordThatIsNotKnown is refused with its field, itself, what is allowed and what to do,
// wherever that is found out.
func TestAWordThatIsNotKnown(t *testing.T) {
	p := Framework(422, "validation failed", &huma.ErrorDetail{Location: "body.type", Message: `expected value to be one of "approval, webhook, image"`, Value: "imag"}).(*api.Problem)
	if p.Detail != `type: "imag" is not known` || p.Hint != "write one of approval, webhook, image" || p.Errors[0].Path != "type" || p.Errors[0].Value != "imag" || !slices.Equal(p.Errors[0].Allowed, []string{"approval", "webhook", "image"}) {
		t.Errorf("%+v", p)
	}
	other := Framework(422, "validation failed", &huma.ErrorDetail{Location: "body.type", Message: `expected value to be one of "1, 2"`, Value: 3.0}).(*api.Problem)
	if other.Errors[0].Path != "body.type" {
		t.Errorf("a number: %+v", other)
	}
}

// TestABodyThatIsTooLong is refused with how long it may be.
func TestABodyThatIsTooLong(t *testing.T) {
	p := Framework(413, "request body is too large limit=1048577 bytes").(*api.Problem)
	if p.Detail != "the body of the request has more than 1 MiB" || !strings.Contains(p.Hint, "send less at once") {
		t.Errorf("%+v", p)
	}
}

// TestARefusalIsShort whatever was sent.
func TestARefusalIsShort(t *testing.T) {
	long := strings.Repeat("é", 100_000) + "\xff"
	var fields codec.Errors
	for range 1000 {
		fields = append(fields, codec.FieldError{Path: long, Value: long, Problem: long, Hint: long})
	}
	var many []error
	for range 1000 {
		many = append(many, &huma.ErrorDetail{Location: long, Message: long})
	}
	for name, p := range map[string]*api.Problem{
		"of fields": OfFields(fields), "of a value": BadValue("x", long, long, long), "of the framework": Framework(422, long, many...).(*api.Problem),
		"of an error": Of(nil, errors.Join(New(422, "invalid", long, long))),
	} {
		if len(p.Detail) > detailMost+3 || len(p.Hint) > detailMost+3 || len(p.Errors) > fieldsMost || !utf8.ValidString(p.Detail+p.Hint) {
			t.Errorf("%s: detail %d, hint %d, %d fields", name, len(p.Detail), len(p.Hint), len(p.Errors))
		}
		for _, e := range p.Errors {
			if len(e.Path) > valueMost+3 || len(e.Value) > valueMost+3 || len(e.Problem) > detailMost+3 || !utf8.ValidString(e.Path+e.Value+e.Problem+e.Hint) {
				t.Fatalf("%s: a field: %d %d %d", name, len(e.Path), len(e.Value), len(e.Problem))
			}
		}
	}
}

// TestAProblemOfAFieldSaysWhatToDo: which field, which value, what is allowed, and
// what to write instead, for people and for programs.
func TestAProblemOfAFieldSaysWhatToDo(t *testing.T) {
	p := OneOf("state", "asleep", "pending", "running")
	if p.Status != 422 || p.Code != "invalid" || p.Detail != `state: "asleep" is not known` || p.Hint != "write one of pending, running" {
		t.Errorf("one of several: %+v", p)
	}
	if e := p.Errors[0]; e.Path != "state" || e.Value != "asleep" || !slices.Equal(e.Allowed, []string{"pending", "running"}) || e.Hint != p.Hint {
		t.Errorf("one of several, for programs: %+v", e)
	}
	p = BadValue("step", "fast", "is not a length of time", "write one like 10s")
	if e := p.Errors[0]; e.Value != "fast" || !strings.HasPrefix(e.Problem, `"fast" is not`) || e.Allowed != nil {
		t.Errorf("a value: %+v", e)
	}
}
