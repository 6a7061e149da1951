// Package submission has the use cases of those who run workloads: submit, change,
// hold, restart, stop, scale and delete them, decide checks, and report what was
// built, published or said of them.
package submission
