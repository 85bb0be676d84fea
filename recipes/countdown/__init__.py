"""Countdown, numbers and a target with many right answers, with a model made here: nothing is downloaded."""
