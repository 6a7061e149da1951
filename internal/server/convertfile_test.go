package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// content is the body of a conversion.
func content(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(api.ConvertRequest{Content: text})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestConvertMakesDocumentsThatCanBeSubmitted(t *testing.T) {
	w := newWorld(t)
	var c api.Converted
	w.ok("POST", "/v1/convert", content(t, "#!/bin/bash\n#SBATCH --gpus=1\n#SBATCH --mem=0\necho hi\n"), http.StatusOK, &c)
	if c.Format != "sbatch" || len(c.Documents) != 1 || !c.Lossy || len(c.Notes) != 4 {
		t.Fatalf("%+v", c)
	}
	if n := c.Notes[2]; n.Line != 3 || n.Fate != "approximated" || n.Field != "--mem" || !n.Lossy || n.Reason == "" {
		t.Errorf("%+v", n)
	}
	w.ok("POST", "/v1/projects/default/workloads", string(c.Documents[0]), http.StatusCreated, &api.Workload{})

	p := w.refused("POST", "/v1/convert", content(t, "#!/bin/bash\n#SBATCH --gpus=x:y\ntrue\n"), http.StatusUnprocessableEntity, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Line != 2 || !strings.Contains(p.Errors[0].Problem, "is not a number of GPUs") {
		t.Errorf("%+v", p.Errors)
	}
}
