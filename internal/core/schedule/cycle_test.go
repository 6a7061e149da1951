package schedule

import "testing"

func TestWhoGoesWhere(t *testing.T) {
	t.Parallel()
	empty := func(id string) Node { return node(id, 4, 16000, 64*gib, "x") }
	plain := func(id string) Node { return node(id, 0, 16000, 64*gib, "") }
	cpu := Need{CPU: 4000}
	for _, c := range []struct {
		name    string
		nodes   []Node
		waiting []Class
		cfg     Config
		want    string
	}{
		{"packing fills the fullest", []Node{empty("a"), occupied(empty("b"), 2, 2000, 0), empty("c")},
			[]Class{class("q", 0, single(gpu(1)), 1, 2, 3)}, Config{}, "j1:b j2:b j3:a"},
		{"spreading takes the emptiest", []Node{occupied(empty("a"), 1, 1000, 0), empty("b"), occupied(empty("c"), 2, 2000, 0)},
			[]Class{class("q", 0, single(gpu(1)), 1, 2, 3)}, Config{Placement: Spread}, "j1:b j2:a j3:b"},
		{"equal nodes are taken by name", []Node{empty("c"), empty("a"), empty("b")},
			[]Class{class("q", 0, single(gpu(4)), 1, 2)}, Config{}, "j1:a j2:b"},
		{"work without GPUs stays off GPU nodes", []Node{empty("a"), plain("b")},
			[]Class{class("q", 0, single(cpu), 1, 2, 3, 4, 5)}, Config{}, "j1:b j2:b j3:b j4:b j5:a"},
		{"spread, too, stays off GPU nodes", []Node{empty("a"), plain("b"), plain("c")},
			[]Class{class("q", 0, single(cpu), 1, 2, 3)}, Config{Placement: Spread}, "j1:b j2:c j3:b"},
		{"priority first, then age", []Node{occupied(empty("a"), 1, 0, 0)},
			[]Class{class("q", 0, single(gpu(1)), 1), class("q", 1, single(gpu(1)), 5), class("p", 0, single(Need{Devices: 1, Milli: 1000}), 3)}, Config{}, "j5:a j1:a j3:a"},
		{"older of another class goes first", []Node{empty("a")},
			[]Class{class("q", 0, single(gpu(2)), 2, 4), class("q", 0, single(gpu(1)), 1, 3)}, Config{}, "j1:a j2:a j3:a"},
		{"who does not fit blocks nobody", []Node{occupied(empty("a"), 2, 0, 0)},
			[]Class{class("q", 9, single(gpu(4)), 1), class("q", 0, single(gpu(2)), 2)}, Config{}, "j2:a"},
		{"a gang is placed whole", []Node{empty("a"), empty("b")},
			[]Class{class("q", 0, gang(3, gpu(2)), 1)}, Config{}, "j1:a+a+b"},
		{"or not at all, and gives back what it tried", []Node{occupied(empty("a"), 1, 0, 0), occupied(empty("b"), 1, 0, 0)},
			[]Class{class("q", 1, gang(3, gpu(2)), 1), class("q", 0, single(gpu(3)), 2, 3)}, Config{}, "j2:a j3:b"},
		{"a gang stays in one pool", []Node{pool(occupied(empty("a"), 3, 0, 0), "east"), pool(empty("b"), "west")},
			[]Class{class("q", 0, gang(4, gpu(1)), 1)}, Config{}, "j1:b+b+b+b"},
		{"pools are tried in the given order", []Node{pool(empty("a"), "east"), pool(empty("b"), "west")},
			[]Class{class("q", 0, NewShape(single(gpu(3)).Groups, []string{"west", "east"}), 1, 2)}, Config{}, "j1:b j2:a"},
		{"an array takes what fits", []Node{empty("a")},
			[]Class{class("q", 0, array(6, 1, gpu(1)), 1)}, Config{}, "j1:a+a+a+a"},
		{"its rest comes after what others need to begin", []Node{empty("a")},
			[]Class{class("q", 0, array(6, 1, gpu(1)), 1), class("q", 0, single(gpu(2)), 2)}, Config{}, "j1:a+a j2:a"},
		{"and among rests by age", []Node{empty("a"), empty("b")},
			[]Class{class("q", 0, array(6, 1, gpu(1)), 1, 2)}, Config{}, "j1:a+a+a+b+b+b j2:a+b"},
		{"priority goes before beginning", []Node{empty("a")},
			[]Class{class("q", 1, array(6, 1, gpu(1)), 1), class("q", 0, single(gpu(1)), 2)}, Config{}, "j1:a+a+a+a"},
		{"who runs gets more", []Node{occupied(empty("a"), 2, 0, 0)},
			[]Class{class("q", 0, array(3, 0, gpu(1)), 1)}, Config{}, "j1:a+a"},
		{"a device that is not healthy is not there", []Node{sick(empty("a"), 0, 1)},
			[]Class{class("q", 0, single(gpu(1)), 1, 2, 3)}, Config{}, "j1:a j2:a"},
		{"parts of devices share one", []Node{empty("a")},
			[]Class{class("q", 0, single(Need{Devices: 1, Milli: 500}), 1, 2), class("q", 0, single(gpu(3)), 3)}, Config{}, "j1:a j2:a j3:a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := where(Cycle(&Snapshot{Nodes: c.nodes, Waiting: c.waiting}, c.cfg)); got != c.want {
				t.Errorf("placed %q, want %q", got, c.want)
			}
		})
	}
}

func sick(n Node, devices ...int) Node {
	for _, d := range devices {
		n.Devices[d].Healthy = false
	}
	return n
}

func TestWholeDevicesGoToOneJob(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Nodes: []Node{occupied(node("a", 4, 16000, 64*gib, "x"), 1, 0, 0)}, Waiting: []Class{class("q", 0, single(gpu(1)), 1, 2, 3)}}
	for i, pl := range Cycle(s, Config{}).Placements {
		if d := pl.Tasks[0].Devices[0]; d.Index != i+1 || d.Milli != 1000 {
			t.Errorf("%s got %+v, want device %d whole", pl.ID, d, i+1)
		}
	}
}
