package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/musterhq/muster/api"
)

func TestAPanicIsAProblem(t *testing.T) {
	var log bytes.Buffer
	panics := prometheus.NewCounter(prometheus.CounterOpts{Name: "panics"})
	s := httptest.NewServer(guarded(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/before":
			panic("a mistake")
		case "/after":
			_, _ = io.WriteString(w, "half of")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			panic("a mistake")
		case "/abort":
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
	}, slog.New(slog.NewTextHandler(&log, nil)), panics))
	defer s.Close()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	resp, err := http.Get(s.URL + "/before")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p api.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusInternalServerError || p.Code != "internal" || p.Hint == "" {
		t.Errorf("%s %+v %v", resp.Status, p, err)
	}
	if text := log.String(); !strings.Contains(text, "a mistake") || !strings.Contains(text, "recovered_test.go") {
		t.Errorf("the log does not say what and where: %s", text)
	}
	resp, err = http.Get(s.URL + "/after")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%q passes for a whole answer", text)
	}
	if resp, err := http.Get(s.URL + "/abort"); err == nil {
		resp.Body.Close()
		t.Errorf("what is broken off on purpose was answered: %s", resp.Status)
	}
	var counted dto.Metric
	if err := panics.Write(&counted); err != nil || counted.Counter.GetValue() != 2 {
		t.Errorf("%v panics are counted, want 2; %v", counted.Counter.GetValue(), err)
	}
	resp, err = http.Get(s.URL + "/fine")
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("%v %v", resp, err)
	}
}
