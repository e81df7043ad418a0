"""The stream checker, checked: good streams pass, every planted fault is caught."""
