// Package launch makes what a backend needs to start a task: command,
// environment, files, mounts, the addresses of the others of its gang, and the
// secrets that are opened when it is handed over. Values go in and come out; it
// knows neither the engine nor a backend's implementation.
package launch
