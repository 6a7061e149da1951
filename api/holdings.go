package api

// Holdings is what each device is doing, and for whom.
type Holdings struct {
	At        Time           `json:"at"`
	Workloads []Holder       `json:"workloads" nullable:"false" doc:"Those that hold devices"`
	Nodes     []NodeHoldings `json:"nodes" nullable:"false" doc:"Those with devices that are held or measured"`
}

// Holder is a workload that holds devices.
type Holder struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Project     string `json:"project"`
	User        string `json:"user"`
	Kind        string `json:"kind"`
	Phase       string `json:"phase"`
	Hidden      bool   `json:"hidden,omitempty" doc:"It may not be seen by who asks: it has no name here"`
	Preemptible bool   `json:"preemptible"`
	GPU         int64  `json:"gpu" doc:"Thousandths of devices that it holds"`
	Likely      *Time  `json:"likely,omitempty" doc:"When it is likely to end; absent: nobody knows"`
	Late        *Time  `json:"late,omitempty" doc:"In nine cases of ten it has ended by then"`
}

// NodeHoldings are the devices of one node.
type NodeHoldings struct {
	Name    string           `json:"name"`
	Devices []DeviceHoldings `json:"devices" nullable:"false"`
}

// DeviceHoldings is what one device does, and for whom.
type DeviceHoldings struct {
	ID          string         `json:"id"`
	Utilization *float64       `json:"utilization,omitempty" doc:"0 to 1, as last measured; absent: nobody looked lately"`
	Held        []DeviceHolder `json:"held,omitempty"`
}

// DeviceHolder is who holds a device, or a part of it.
type DeviceHolder struct {
	Workload int   `json:"workload" doc:"Its place in workloads, from 0"`
	Task     int   `json:"task" doc:"Index of the task"`
	Part     int64 `json:"part" doc:"In thousandths"`
}
