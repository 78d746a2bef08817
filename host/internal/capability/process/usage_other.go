//go:build !linux

package process

func usageOf(int) (u Usage, known bool) { return Usage{}, false }
