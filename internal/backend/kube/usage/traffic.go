package usage

import (
	"context"
	"encoding/json"
	"time"
)

// summary is the part of a kubelet's answer that tells of networks
// (https://kubernetes.io/docs/reference/instrumentation/node-metrics/).
type summary struct {
	Pods []struct {
		Ref struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"podRef"`
		// Network is absent for pods that have the network of their node.
		Network *struct {
			Time       time.Time `json:"time"`
			Interfaces []struct {
				Received uint64 `json:"rxBytes"`
				Sent     uint64 `json:"txBytes"`
			} `json:"interfaces"`
			Received uint64 `json:"rxBytes"` // of the interface that is the way out
			Sent     uint64 `json:"txBytes"`
		} `json:"network"`
	} `json:"pods"`
}

// due are the kubelets that are asked about networks now, which is noted.
func (s *readings) due(nodes []string, now time.Time) map[string]bool {
	due, at := map[string]bool{}, make(map[string]time.Time, len(nodes))
	for _, n := range nodes {
		if at[n] = s.networks[n]; now.Sub(at[n]) >= trafficEvery {
			due[n], at[n] = true, now
		}
	}
	s.networks = at
	return due
}

// askTraffic asks a kubelet for what has gone over the networks of its pods since they
// began, all interfaces together; nil where it does not tell.
func (p *Sampler) askTraffic(ctx context.Context, node string) map[string]spent {
	data, err := p.cluster.Client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
	var all summary
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil // what it uses otherwise was told: charts of networks are empty
	}
	out := make(map[string]spent, len(all.Pods))
	for _, pod := range all.Pods {
		n := pod.Network
		if n == nil {
			continue
		}
		sum := n.Received + n.Sent
		if len(n.Interfaces) > 0 {
			sum = 0
			for _, i := range n.Interfaces {
				sum += i.Received + i.Sent
			}
		}
		out[pod.Ref.Namespace+"/"+pod.Ref.Name] = spent{float64(sum), n.Time.UnixMilli()}
	}
	return out
}
