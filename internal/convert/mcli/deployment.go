package mcli

import (
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// serving are fields at the top that only a deployment has, and what is lost
// without them. Images of one's own need none of these.
var serving = source.Reasons{
	"model":         "is read by MosaicML's own serving image; have the command load the model",
	"default_model": "names a model that MosaicML serves itself; write the image and command of a server for it",
	"batching":      "is of MosaicML's own serving image; have the command's server batch",
	"rate_limit":    "nothing here limits the rate of requests",
	"rate_limits":   "nothing here limits the rate of requests",
}

// servingPort is where a deployment's container listens; the Python SDK says the
// same.
const servingPort = 8080

// isDeployment reports whether a file is one of mcli deploy.
func isDeployment(o *source.Map) bool {
	if o.Has("replicas") {
		return true
	}
	for name := range serving {
		if o.Has(name) {
			return true
		}
	}
	return false
}

// deployment makes a service of a document that was read as a run: its replicas
// serve each by itself, on one node, until they are told to end.
func (m *run) deployment() {
	d := m.doc
	d.Kind = lifecycle.Inference
	if d.Workers > 1 {
		m.Refuse(m.computeLine, "compute", "", "a replica runs on one node, and these GPUs are on several", "write at most 8 GPUs, of one node")
		return
	}
	d.Workers, d.Retry.System, d.Preemptible = 0, nil, nil
	if d.Env["WORLD_SIZE"] == m.world {
		delete(d.Env, "WORLD_SIZE")
	}
	replicas := 1
	if v := m.o.Consume("replicas"); v != nil {
		replicas = v.Integer(0)
		v.Kept("replicas")
	}
	d.Replicas = &replicas
	if d.Image != "" {
		d.Ports = []spec.Port{{Port: servingPort}}
		m.Note(source.Note{Line: m.o.Tree.Line, Field: "replicas", Fate: source.Translated, To: "ports[0]", Reason: "a deployment is asked at port 8080"})
	}
	for _, name := range source.SortedKeys(serving) {
		if v := m.o.Consume(name); v != nil {
			v.Dropped(serving[name])
		}
	}
}
