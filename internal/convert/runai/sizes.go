package runai

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// gpu is the GPUs of a task, where they are not asked for in another way yet.
func (g *given) gpu(way spec.GPUKind) *spec.GPU {
	p := &g.s.doc.Resources.GPU
	if k := p.Kind(); k != spec.NoGPU && k != way && !(k == spec.WholeGPU && way != spec.MIGGPU) {
		g.refuse("asks for GPUs in a second way", "keep one of --gpu-portion-request, --gpu-memory and --mig-profile")
		return nil
	}
	return p
}

// gpus reads a number of GPUs, or a part of one.
func (g *given) gpus() {
	f, err := strconv.ParseFloat(g.value, 64)
	switch {
	case err != nil || f < 0 || f > 1024 || f > 1 && f != float64(int(f)):
		g.refuse(fmt.Sprintf("%q is not a number of GPUs", source.Shorten(g.value)), "write a whole number, or a part of one such as 0.5")
	case f == 0:
		g.kept("resources.gpu")
	case f < 1:
		p := g.gpu(spec.ShareGPU)
		share, err := spec.ParseShare(g.value)
		if p == nil {
			return
		}
		if err != nil {
			g.refuse(source.ProblemOf(err), source.HintOf(err))
			return
		}
		if p.Share != 0 && p.Share != share || p.Count > 1 {
			g.refuse("asks for other GPUs than another flag", "make them agree")
			return
		}
		p.Share = share
		g.translated("resources.gpu.share", "")
	default:
		p := g.gpu(spec.WholeGPU)
		if k := g.s.doc.Resources.GPU.Kind(); k == spec.ShareGPU || k == spec.MemoryGPU {
			p = &g.s.doc.Resources.GPU // of so many devices that part
		} else if p == nil {
			return
		}
		if p.Count != 0 && p.Count != int(f) {
			g.refuse(fmt.Sprintf("is %s, and another flag says %d", g.value, p.Count), "make them agree")
			return
		}
		p.Count = int(f)
		g.kept("resources.gpu.count")
	}
}

func (g *given) portion() {
	p := g.gpu(spec.ShareGPU)
	if p == nil {
		return
	}
	if f, err := strconv.ParseFloat(g.value, 64); err == nil && f == 1 {
		p.Count = max(p.Count, 1)
		g.translated("resources.gpu.count", "a whole GPU")
		return
	}
	share, err := spec.ParseShare(g.value)
	if err != nil {
		g.refuse(source.ProblemOf(err), source.HintOf(err))
		return
	}
	if p.Share != 0 && p.Share != share {
		g.refuse("asks for another part than another flag", "make them agree")
		return
	}
	p.Share = share
	g.translated("resources.gpu.share", "of each device")
}

func (g *given) portionLimit() {
	l, err := spec.ParseShareLimit(g.value)
	if err != nil {
		g.refuse(source.ProblemOf(err), source.HintOf(err))
		return
	}
	g.s.doc.Resources.GPU.ShareLimit = l
	g.translated("resources.gpu.shareLimit", "")
}

// gpuBytes reads an amount of a GPU's memory: MB in older versions.
func (g *given) gpuBytes() (spec.Quantity, bool) {
	text := g.value
	if _, err := strconv.Atoi(text); err == nil {
		text += "M"
	}
	if n := len(text) - 2; n > 0 && text[n+1] == 'B' && strings.IndexByte("KMGT", text[n]) >= 0 { // 10GB, as Run:ai's own guides have it
		text = text[:n+1]
	}
	q, err := spec.ParseQuantity(text)
	if err != nil {
		g.refuse(source.ProblemOf(err), source.HintOf(err))
	}
	return q, err == nil
}

func (g *given) gpuMemory() {
	p := g.gpu(spec.MemoryGPU)
	if p == nil {
		return
	}
	if q, ok := g.gpuBytes(); ok {
		p.Memory = q
		g.kept("resources.gpu.memory")
	}
}

func (g *given) gpuMemoryLimit() {
	if q, ok := g.gpuBytes(); ok {
		g.s.doc.Resources.GPU.MemoryLimit = q
		g.kept("resources.gpu.memoryLimit")
	}
}

func (g *given) mig() {
	p := g.gpu(spec.MIGGPU)
	if p == nil {
		return
	}
	m, err := spec.ParseMIG(g.value)
	if err != nil {
		g.refuse(source.ProblemOf(err), source.HintOf(err))
		return
	}
	p.MIG = m
	g.kept("resources.gpu.mig")
}

func (g *given) requestType() {
	switch g.value {
	case "portion", "memory", "migProfile":
		g.record(source.Translated, false, "resources.gpu", "the amount says it")
	default:
		g.refuse(fmt.Sprintf("%q is not a way to ask for GPUs", source.Shorten(g.value)), "allowed are portion, memory and migProfile")
	}
}

func (g *given) masterArgs() {
	words, err := source.ShellWords(g.value)
	if err != nil {
		g.refuse(err.Error(), "close it")
		return
	}
	g.s.master().Args = words
	g.translated("master.args", "")
}

func (g *given) masterCommand() {
	words, err := source.ShellWords(g.value)
	if err != nil || len(words) == 0 {
		g.refuse("is not a command", "close its quotes")
		return
	}
	g.s.master().Command = spec.Command{Argv: words}
	g.translated("master.command", "")
}

func (g *given) masterVariable() {
	name, text, has := strings.Cut(g.value, "=")
	switch {
	case !has || name == "":
		g.refuse(fmt.Sprintf("%q is not name=value", source.Shorten(g.value)), "write it like NAME=value")
	case text == "-":
		g.approximated("master.env", "it is empty, not unset")
		g.s.master().Env = source.Set(g.s.master().Env, name, "")
	default:
		g.s.master().Env = source.Set(g.s.master().Env, name, text)
		g.kept("master.env." + name)
	}
}

func (g *given) masterGPU() {
	f, err := strconv.ParseFloat(g.value, 64)
	if err != nil || f < 0 || f > 1024 || f > 1 && f != float64(int(f)) {
		g.refuse(fmt.Sprintf("%q is not a number of GPUs", source.Shorten(g.value)), "write a whole number, or a part of one such as 0.5")
		return
	}
	m := g.s.masterResources()
	if f > 0 && f < 1 {
		share, err := spec.ParseShare(g.value)
		if err != nil {
			g.refuse(source.ProblemOf(err), source.HintOf(err))
			return
		}
		m.GPU.Share = share
	} else {
		m.GPU.Count = int(f)
	}
	g.translated("master.resources.gpu", "")
}

// extended reads NAME=COUNT of what else nodes offer by name.
func (g *given) extended() { g.count(&g.s.doc.Resources, "resources.extended") }

func (g *given) masterExtended() { g.count(g.s.masterResources(), "master.resources.extended") }

func (g *given) count(r *spec.Resources, to string) {
	name, text, _ := strings.Cut(g.value, "=")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > source.MostExtended {
		g.refuse(fmt.Sprintf("%q is not name=number", source.Shorten(g.value)), "write it like rdma/hca_shared_devices_a=1")
		return
	}
	if err := spec.ExtendedName(name); err != nil {
		g.refuse(source.ProblemOf(err), source.HintOf(err))
		return
	}
	if before := r.Extended[name]; before != 0 && before != n {
		g.refuse(fmt.Sprintf("asks for %d of %s, and another flag for %d", n, name, before), "make them agree")
		return
	}
	r.Extended = source.Set(r.Extended, name, n)
	g.kept(to + "." + name)
}

// mount adds a volume.
func (g *given) mount(v spec.Volume) string {
	g.s.doc.Volumes = append(g.s.doc.Volumes, v)
	return fmt.Sprintf("volumes[%d]", len(g.s.doc.Volumes)-1)
}

// volume reads SOURCE:TARGET[:ro][:NFS-HOST].
func (g *given) volume() {
	parts := strings.Split(g.value, ":")
	if len(parts) < 2 || !strings.HasPrefix(parts[0], "/") {
		g.refuse(fmt.Sprintf("%q is not a directory and a path", source.Shorten(g.value)), "write it like /data:/data or /data:/data:ro")
		return
	}
	v := spec.Volume{HostPath: parts[0], Path: parts[1]}
	for _, p := range parts[2:] {
		switch p {
		case "ro":
			v.ReadOnly = true
		case "rw", "":
		default:
			g.record(source.Ignored, true, "", "mount it on the nodes and write --volume without the host")
			return
		}
	}
	g.kept(g.mount(v))
}

func (g *given) hostPath() {
	f := g.fields()
	if f["path"] == "" || f["mount"] == "" {
		g.refuse("names no path and mount", "write path=/data,mount=/data")
		return
	}
	g.kept(g.mount(spec.Volume{HostPath: f["path"], Path: f["mount"], ReadOnly: f["readwrite"] != "true"}))
}

// pvc reads NAME:PATH[:ro], of a claim that is there, or [CLASS]:SIZE:PATH[:ro].
func (g *given) pvc() {
	parts := strings.Split(g.value, ":")
	readOnly := len(parts) > 2 && parts[len(parts)-1] == "ro"
	if readOnly {
		parts = parts[:len(parts)-1]
	}
	if len(parts) != 2 || !strings.HasPrefix(parts[1], "/") {
		g.record(source.Ignored, true, "", "claims are not made; make it with kubectl and write NAME:PATH")
		return
	}
	g.kept(g.mount(spec.Volume{Claim: parts[0], Path: parts[1], ReadOnly: readOnly}))
}

func (g *given) claim() {
	f := g.fields()
	if f["claimname"] == "" || f["path"] == "" {
		g.refuse("names no claimname and path", "write claimname=data,path=/data")
		return
	}
	g.kept(g.mount(spec.Volume{Claim: f["claimname"], Path: f["path"], ReadOnly: f["readonly"] == "true" || f["ro"] == "true"}))
}

func (g *given) newClaim() {
	f := g.fields()
	if f["path"] != "" && f["ephemeral"] == "true" {
		q, err := spec.ParseQuantity(f["size"])
		if err != nil {
			q = 0
		}
		g.approximated(g.mount(spec.Volume{Temporary: &spec.Temporary{Size: q}, Path: f["path"]}), "it lies in memory")
		return
	}
	g.record(source.Ignored, true, "", "claims are not made; make it with kubectl and write --existing-pvc")
}

func (g *given) secretVolume() {
	f := g.fields()
	name := f["name"]
	if name == "" {
		name = f["secret"]
	}
	if name == "" || f["path"] == "" {
		g.refuse("names no name and path", "write name=token,path=/secrets/token")
		return
	}
	g.approximated(g.mount(spec.Volume{Secret: name, Path: f["path"]}), "the secret is one file, and its path is that file")
}

// port reads HOST:CONTAINER, a number, or fields with container=.
func (g *given) port() {
	text := g.value
	if strings.Contains(text, "=") {
		text = g.fields()["container"]
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		text = text[i+1:]
	}
	g.listen(text)
}

func (g *given) listen(text string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		g.refuse(fmt.Sprintf("%q is not a port", source.Shorten(g.value)), "write it like 8080 or 30080:8080")
		return
	}
	for _, p := range g.s.doc.Ports {
		if p.Port == n {
			g.record(source.Translated, false, "ports", "it is there already")
			return
		}
	}
	g.s.doc.Ports = append(g.s.doc.Ports, spec.Port{Port: n})
	g.translated(fmt.Sprintf("ports[%d]", len(g.s.doc.Ports)-1), "")
}

func (g *given) externalURL() {
	f := g.fields()
	if f["container"] == "" {
		g.refuse("names no container port", "write container=8080")
		return
	}
	if f["authusers"] != "" || f["authgroups"] != "" || f["url"] != "" {
		g.approximated("ports", "it is reached through the server, by who may use that")
		n, err := strconv.Atoi(f["container"])
		if err == nil && n > 0 && n < 65536 {
			g.s.doc.Ports = append(g.s.doc.Ports, spec.Port{Port: n})
		}
		return
	}
	g.listen(f["container"])
}

func (g *given) scale() *spec.Autoscale {
	if g.s.doc.Autoscale == nil {
		g.s.doc.Autoscale = &spec.Autoscale{Concurrency: 1}
	}
	return g.s.doc.Autoscale
}

func (g *given) metric() {
	g.scale()
	if g.value == "concurrency" {
		g.translated("autoscale", "")
		return
	}
	g.approximated("autoscale", "replicas follow requests under way")
}

func (g *given) threshold() {
	n, err := strconv.Atoi(g.value)
	if err != nil || n < 1 || n > 100_000 {
		g.refuse(fmt.Sprintf("%q is not a whole number from 1", source.Shorten(g.value)), "write it in digits")
		return
	}
	g.scale().Concurrency = n
	g.translated("autoscale.concurrency", "")
}

func (g *given) scaleDown() {
	n, err := strconv.Atoi(g.value)
	if err != nil || n < 0 || n > 1_000_000 {
		g.refuse(fmt.Sprintf("%q is not a number of seconds", source.Shorten(g.value)), "write it in digits")
		return
	}
	g.scale().ScaleDown = max(g.scale().ScaleDown, source.Seconds(n))
	g.translated("autoscale.scaleDown", "")
}
