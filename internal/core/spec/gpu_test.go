package spec

import (
	"encoding/json"
	"testing"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

func TestGPUsInEveryForm(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		want  GPU
		kind  GPUKind
		milli int
		seen  int
		total int64
		back  string // as it is written again
		words string
	}{
		"0":                                    {GPU{}, NoGPU, 0, 0, 0, "{}", ""},
		"2":                                    {GPU{Count: 2}, WholeGPU, 1000, 2, 2000, "2", "2 GPUs"},
		"{count: 1, type: h100}":               {GPU{Count: 1, Type: "h100"}, WholeGPU, 1000, 1, 1000, `{"count":1,"type":"h100"}`, "1 GPU h100"},
		"0.5":                                  {GPU{Count: 1, Share: 500}, ShareGPU, 500, 1, 500, "0.5", "0.5 of a GPU"},
		"5e-1":                                 {GPU{Count: 1, Share: 500}, ShareGPU, 500, 1, 500, "0.5", "0.5 of a GPU"},
		".250":                                 {GPU{Count: 1, Share: 250}, ShareGPU, 250, 1, 250, "0.25", "0.25 of a GPU"},
		"{count: 1, share: 0.001}":             {GPU{Count: 1, Share: 1}, ShareGPU, 1, 1, 1, "0.001", "0.001 of a GPU"},
		"{count: 2, share: 0.75}":              {GPU{Count: 2, Share: 750}, ShareGPU, 750, 2, 1500, `{"count":2,"share":0.75}`, "0.75 of each of 2 GPUs"},
		"{share: '0.5', type: a100}":           {GPU{Count: 1, Share: 500, Type: "a100"}, ShareGPU, 500, 1, 500, `{"type":"a100","share":0.5}`, "0.5 of a GPU a100"},
		"{memory: 8Gi}":                        {GPU{Count: 1, Memory: 8 << 30 * 1000}, MemoryGPU, 0, 1, 1000, `{"memory":"8Gi"}`, "8Gi of a GPU"},
		"{memory: 8Gi, count: 2}":              {GPU{Count: 2, Memory: 8 << 30 * 1000}, MemoryGPU, 0, 2, 2000, `{"count":2,"memory":"8Gi"}`, "8Gi of each of 2 GPUs"},
		"{share: 0.25, shareLimit: 0.5}":       {GPU{Count: 1, Share: 250, ShareLimit: 500}, ShareGPU, 250, 1, 250, `{"share":0.25,"shareLimit":0.5}`, "0.25 up to 0.5 of a GPU"},
		"{count: 2, share: .5, shareLimit: 1}": {GPU{Count: 2, Share: 500, ShareLimit: 1000}, ShareGPU, 500, 2, 1000, `{"count":2,"share":0.5,"shareLimit":1}`, "0.5 up to 1 of each of 2 GPUs"},
		"{share: 0.5, shareLimit: 0.5}":        {GPU{Count: 1, Share: 500, ShareLimit: 500}, ShareGPU, 500, 1, 500, `{"share":0.5,"shareLimit":0.5}`, "0.5 of a GPU"},
		"{memory: 8Gi, memoryLimit: 16Gi}":     {GPU{Count: 1, Memory: 8 << 30 * 1000, MemoryLimit: 16 << 30 * 1000}, MemoryGPU, 0, 1, 1000, `{"memory":"8Gi","memoryLimit":"16Gi"}`, "8Gi up to 16Gi of a GPU"},
		"{mig: 1g.10gb}":                       {GPU{MIG: "1g.10gb=1"}, MIGGPU, 0, 1, 1000, `{"mig":"1g.10gb"}`, "1g.10gb"},
		"{mig: '3g.40gb=1,1g.10gb=2'}":         {GPU{MIG: "1g.10gb=2,3g.40gb=1"}, MIGGPU, 0, 3, 5000, `{"mig":{"1g.10gb":2,"3g.40gb":1}}`, "1g.10gb=2,3g.40gb=1"},
		"{mig: {3g.40gb: 1, 1g.10gb: '2'}}":    {GPU{MIG: "1g.10gb=2,3g.40gb=1"}, MIGGPU, 0, 3, 5000, `{"mig":{"1g.10gb":2,"3g.40gb":1}}`, "1g.10gb=2,3g.40gb=1"},
		"{mig: {1g.10gb+me: 1}, type: h100}":   {GPU{MIG: "1g.10gb+me=1", Type: "h100"}, MIGGPU, 0, 1, 1000, `{"type":"h100","mig":"1g.10gb+me"}`, "1g.10gb+me h100"},
		"{mig: {}}":                            {GPU{}, NoGPU, 0, 0, 0, "{}", ""},
	} {
		d := mustParse(t, "command: ls\nresources: {gpu: "+text+"}\n")
		g := d.Resources.GPU
		if g != c.want || g.Kind() != c.kind || g.Milli() != c.milli || g.Devices() != c.seen || g.TotalMilli() != c.total || g.Words() != c.words {
			t.Errorf("%s: %+v: kind %d, %d of each of %d, %d in all, %q", text, g, g.Kind(), g.Milli(), g.Devices(), g.TotalMilli(), g.Words())
		}
		if errs := Validate(d); errs != nil {
			t.Errorf("%s: %v", text, errs)
		}
		raw, err := json.Marshal(d.Resources)
		var r Resources
		if err != nil || json.Unmarshal(raw, &r) != nil || !r.Equal(d.Resources) {
			t.Errorf("%s: %s %v", text, raw, err)
		}
		n, _ := d.tree()
		written := "{}"
		for i, key := range n.Keys {
			if key == "resources" {
				written = string(codec.AppendJSON(nil, &n.Items[i].Items[0]))
			}
		}
		if written != c.back {
			t.Errorf("%s: written %s, want %s", text, written, c.back)
		}
	}
}

func TestPartsAreOfOneGPUUnlessSaidOtherwise(t *testing.T) {
	t.Parallel()
	d := &Document{
		Kind: "distributed", Command: ShellCommand("ls"), Workers: 2,
		Resources: Resources{GPU: GPU{Share: 500}},
		Master:    &Master{Resources: &Resources{GPU: GPU{Memory: 1 << 30 * 1000}}},
		Publish:   &Publish{Model: "out", Serve: &Serve{Command: ShellCommand("ls"), Port: 80, Resources: &Resources{GPU: GPU{Share: 1}}}},
	}
	if errs := Validate(d); errs != nil || d.Resources.GPU.Devices() != 1 || d.TotalGPUs() != 2 || d.TotalMilli() != 1500 {
		t.Errorf("%v %d %d", errs, d.TotalGPUs(), d.TotalMilli())
	}
	before := d.Clone()
	d.Defaults()
	if a, b, c := d.Resources.GPU.Count, d.Needs(0).GPU.Count, d.Publish.Serve.Resources.GPU.Count; a != 1 || b != 1 || c != 1 {
		t.Errorf("%d %d %d", a, b, c)
	}
	if before.Resources.GPU.Count != 0 {
		t.Error("the clone shares its resources")
	}
}

func TestSharesAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Share{"0.5": 500, "0.001": 1, "0.999": 999, ".5": 500, "+0.5": 500, "5E-1": 500, "0.500": 500, "99.9e-2": 999} {
		if got, err := ParseShare(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0", "1", "0.0", "1.0", "-0.5", "0.0005", "1e-9", "0.33333", "500m", "50%", ".inf", ".nan", "0x1", "a", "1.5", "1e3"} {
		if got, err := ParseShare(bad); err == nil {
			t.Errorf("%q was read as %d", bad, got)
		}
	}
	for s, want := range map[Share]string{1: "0.001", 10: "0.01", 500: "0.5", 999: "0.999", 1500: "1.5", -250: "-0.25", 1000: "1"} {
		if s.String() != want {
			t.Errorf("%d: %s", int(s), s)
		}
	}
}

func TestProfilesOfMIG(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]MIG{
		"1g.5gb": "1g.5gb=1", "7g.80gb=1": "7g.80gb=1", "2g.20gb=3,1g.10gb": "1g.10gb=1,2g.20gb=3", "1g.10gb+me.all": "1g.10gb+me.all=1", "1g.5gb.me=2": "1g.5gb.me=2",
	} {
		if got, err := ParseMIG(text); err != nil || got != want {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	for _, bad := range []string{
		"", ",", "1g", "1g.5", "g.5gb", "0g.5gb", "1g.0gb", "1g.5GB", "1g.5gb+", "1g.5gb++me", "1g.5gbme", "1g.5gb=0", "1g.5gb=-1", "1g.5gb=x", "1g.5gb=1025",
		"1g.5gb=1=1", "1g.5gb,1g.5gb", "1g.5gb,", "mig-1g.5gb", "half", "1g.5gb=1.0",
	} {
		if got, err := ParseMIG(bad); err == nil {
			t.Errorf("%q was read as %q", bad, got)
		}
	}
}

// TestGPUsMadeInGoAreChecked: importers fill in the fields themselves.
func TestGPUsMadeInGoAreChecked(t *testing.T) {
	t.Parallel()
	for _, g := range []GPU{
		{Count: 1, Share: 1000}, {Count: 1, Share: -1}, {Share: 500, Memory: 1 << 30 * 1000}, {MIG: "x"}, {MIG: "1g.5gb"}, {MIG: "2g.10gb=1,1g.5gb=1"},
		{Share: 500, ShareLimit: 499}, {Share: 500, ShareLimit: 1001}, {Memory: 2 << 30 * 1000, MemoryLimit: 1 << 30 * 1000}, {Count: 1, ShareLimit: 500},
		{Memory: 1 << 30 * 1000, ShareLimit: 500}, {Share: 500, MemoryLimit: 1 << 30 * 1000}, {MIG: "1g.5gb=1", ShareLimit: 500}, {MemoryLimit: 1 << 30 * 1000},
		{MIG: "1g.5gb=1", Count: 1}, {MIG: "1g.5gb=1", Share: 500}, {MIG: "1g.5gb=1", Memory: 1 << 30 * 1000}, {Count: 1, Memory: 1000}, {Type: "h100"},
	} {
		if errs := Validate(&Document{Command: ShellCommand("ls"), Resources: Resources{GPU: g}}); len(errs) != 1 {
			t.Errorf("%+v: %v", g, errs)
		}
	}
}

func TestLimitsOfPartsAreOfTheDevice(t *testing.T) {
	t.Parallel()
	const gi = 1 << 30
	for _, c := range []struct {
		g      GPU
		memory int64
		want   int
	}{
		{GPU{}, 80 * gi, 0},
		{GPU{Count: 2}, 80 * gi, 1000},
		{GPU{Share: 250}, 80 * gi, 250},
		{GPU{Share: 250, ShareLimit: 600}, 0, 600},
		{GPU{Memory: 8 * gi * 1000}, 80 * gi, 100},
		{GPU{Memory: 8 * gi * 1000, MemoryLimit: 20 * gi * 1000}, 80 * gi, 250},
		{GPU{Memory: 8 * gi * 1000, MemoryLimit: 200 * gi * 1000}, 80 * gi, 1000},
		{GPU{Memory: 8 * gi * 1000, MemoryLimit: 20 * gi * 1000}, 0, 1000},
		{GPU{MIG: "1g.5gb=1"}, 80 * gi, 0},
	} {
		if got := c.g.LimitMilli(c.memory); got != c.want {
			t.Errorf("%+v of %d: %d, want %d", c.g, c.memory, got, c.want)
		}
	}
}

func TestLimitsOfPartsAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ShareLimit{"0.5": 500, "1": 1000, "1.0": 1000, "+1": 1000, ".999": 999} {
		if got, err := ParseShareLimit(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0", "1.001", "2", "-1", "0.0005", "1000m", "all", ".inf"} {
		if got, err := ParseShareLimit(bad); err == nil {
			t.Errorf("%q was read as %d", bad, got)
		}
	}
}
