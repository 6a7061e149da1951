package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// look is how often the plugin looks whether kubelet has changed its mind.
const look = 200 * time.Millisecond

// plugin offers devices of one resource that are no hardware: a container that
// gets some finds their names in NVIDIA_VISIBLE_DEVICES, as with the real one.
type plugin struct {
	api.UnimplementedDevicePluginServer
	resource  string
	ids       []string
	unhealthy string // file of the IDs that are broken, one a line; may be missing
}

// runDevicePlugin serves all resources until it is killed.
func runDevicePlugin(args []string) error {
	flags := pflag.NewFlagSet("device-plugin", pflag.ContinueOnError)
	resources := flags.StringArray("resource", nil, "resource and how many devices: nvidia.com/gpu=4; as often as needed")
	node := flags.String("node", "node", "its name is in those of the devices")
	unhealthy := flags.String("unhealthy", "", "file with the names of broken devices, one a line")
	dir := flags.String("dir", api.DevicePluginPath, "folder of kubelet's socket")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, r := range *resources {
		name, count, _ := strings.Cut(r, "=")
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || name == "" {
			return fmt.Errorf("--resource is %q: give a name and a count such as nvidia.com/gpu=4", r)
		}
		p := &plugin{resource: name, unhealthy: *unhealthy}
		kind := "GPU"
		if strings.Contains(name, "/mig-") {
			kind = "MIG"
		}
		for i := range n {
			p.ids = append(p.ids, fmt.Sprintf("%s-%s-%d", kind, *node, i))
		}
		go p.run(*dir)
	}
	select {}
}

// run serves and registers, and does so again whenever kubelet, as it does at
// its start, has emptied the folder.
func (p *plugin) run(dir string) {
	kubelet, own := filepath.Join(dir, "kubelet.sock"), filepath.Join(dir, strings.ReplaceAll(p.resource, "/", "_")+".sock")
	for ; ; time.Sleep(look) {
		if _, err := os.Stat(kubelet); err != nil {
			continue
		}
		if err := p.serve(kubelet, own); err != nil {
			fmt.Fprintln(os.Stderr, p.resource, err)
		}
	}
}

// serve registers with kubelet and returns when the socket is gone.
func (p *plugin) serve(kubelet, own string) error {
	if err := os.Remove(own); err != nil && !os.IsNotExist(err) {
		return err
	}
	l, err := net.Listen("unix", own)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	defer server.Stop()
	api.RegisterDevicePluginServer(server, p)
	go server.Serve(l)
	c, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := api.NewRegistrationClient(c).Register(ctx, &api.RegisterRequest{Version: api.Version, Endpoint: filepath.Base(own), ResourceName: p.resource}); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	fmt.Printf("%s: %d registered\n", p.resource, len(p.ids))
	for {
		if _, err := os.Stat(own); err != nil {
			return nil
		}
		time.Sleep(look)
	}
}

// ListAndWatch implements the protocol: all devices, again after each change.
func (p *plugin) ListAndWatch(_ *api.Empty, s api.DevicePlugin_ListAndWatchServer) error {
	var told []byte
	for first := true; ; first = false {
		broken, err := os.ReadFile(p.unhealthy)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if first || !bytes.Equal(broken, told) {
			if err := s.Send(&api.ListAndWatchResponse{Devices: p.devices(broken)}); err != nil {
				return err
			}
			told = broken
		}
		select {
		case <-s.Context().Done():
			return nil
		case <-time.After(look):
		}
	}
}

func (p *plugin) devices(broken []byte) []*api.Device {
	bad := map[string]bool{}
	for _, id := range strings.Fields(string(broken)) {
		bad[id] = true
	}
	var out []*api.Device
	for _, id := range p.ids {
		d := &api.Device{ID: id, Health: api.Healthy}
		if bad[id] {
			d.Health = api.Unhealthy
		}
		out = append(out, d)
	}
	return out
}

// Allocate implements the protocol.
func (p *plugin) Allocate(_ context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	out := &api.AllocateResponse{}
	for _, c := range r.ContainerRequests {
		out.ContainerResponses = append(out.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(c.DevicesIds, ",")}})
	}
	return out, nil
}

// GetDevicePluginOptions implements the protocol: there are none.
func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}
