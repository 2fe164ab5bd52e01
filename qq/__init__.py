"""Everything about QQ and OneBot that several plugins share. Nothing in here is a NoneBot plugin."""
