package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The JSON of OTLP/HTTP (opentelemetry.io/docs/specs/otlp), as far as spans need
// it. Identities are in hexadecimal and times are strings, as it wants them.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource   otlpAttributes `json:"resource"`
		ScopeSpans []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID      string          `json:"traceId"`
		SpanID       string          `json:"spanId"`
		ParentSpanID string          `json:"parentSpanId,omitempty"`
		Name         string          `json:"name"`
		Kind         int             `json:"kind"`
		Start        string          `json:"startTimeUnixNano"`
		End          string          `json:"endTimeUnixNano"`
		Attributes   []otlpAttribute `json:"attributes,omitempty"`
		Status       otlpStatus      `json:"status"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
	}
)

// Of the protocol: a span of a process by itself, and what became of it.
const (
	spanInternal = 1
	statusOK     = 1
	statusError  = 2
)

func text(key, value string) otlpAttribute { return otlpAttribute{key, otlpValue{String: &value}} }

func number(key string, value int64) otlpAttribute {
	n := strconv.FormatInt(value, 10)
	return otlpAttribute{key, otlpValue{Int: &n}}
}

// span is a span before it is written.
type span struct {
	trace      [16]byte
	id, parent [8]byte // parent zero: it is the root
	name       string
	from, to   time.Time
	attributes []otlpAttribute
	failed     bool
	message    string
}

func (s *span) otlp() otlpSpan {
	out := otlpSpan{
		TraceID: hex.EncodeToString(s.trace[:]), SpanID: hex.EncodeToString(s.id[:]), Name: s.name, Kind: spanInternal,
		Start: strconv.FormatInt(s.from.UnixNano(), 10), End: strconv.FormatInt(s.to.UnixNano(), 10), Attributes: s.attributes,
		Status: otlpStatus{Code: statusOK},
	}
	if s.parent != [8]byte{} {
		out.ParentSpanID = hex.EncodeToString(s.parent[:])
	}
	if s.failed {
		out.Status = otlpStatus{Code: statusError, Message: s.message}
	}
	return out
}

// post sends spans to a receiver. again says that the same may succeed later.
func (t *Tracer) post(ctx context.Context, spans []span) (again bool, err error) {
	scope := otlpScope{}
	scope.Scope.Name, scope.Scope.Version = "github.com/musterhq/muster", t.o.Version
	for i := range spans {
		scope.Spans = append(scope.Spans, spans[i].otlp())
	}
	body, err := json.Marshal(otlpRequest{[]otlpResource{{
		Resource:   otlpAttributes{[]otlpAttribute{text("service.name", "muster"), text("service.version", t.o.Version)}},
		ScopeSpans: []otlpScope{scope},
	}}})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range t.o.Headers {
		name, value, _ := strings.Cut(h, "=")
		req.Header.Set(name, value)
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	switch resp.StatusCode { // those that the protocol says to try again
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("%s answered %s: %.200s", t.url, resp.Status, bytes.TrimSpace(answer))
}
