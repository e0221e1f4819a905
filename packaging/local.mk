EXTRA_DIST += packaging/README.md packaging/Containerfile packaging/apparmor/callgate
EXTRA_DIST += $(addprefix packaging/debian/,callgate.docs callgate.examples callgate.install \
	callgate.lintian-overrides callgate.triggers changelog control copyright python3-callgate.install \
	source/format source/lintian-overrides)
dist_noinst_SCRIPTS += packaging/debian/callgate.postinst packaging/debian/callgate.prerm packaging/debian/rules
dist_noinst_SCRIPTS += packaging/deb.sh packaging/image.sh packaging/root.sh

# Debian packages, with their source package, in packages/.
PACKAGES = $(abs_builddir)/packages
.PHONY: deb image check-packages
deb: dist
	$(SHELL) $(srcdir)/packaging/deb.sh $(abs_builddir)/$(distdir).tar.xz $(PACKAGES)

# The image callgate:VERSION in the storage of buildah and podman, from these packages.
image: deb
	$(SHELL) $(srcdir)/packaging/image.sh $(PACKAGES) $(PACKAGE_VERSION)

check-packages: deb
	top_srcdir=$(abs_top_srcdir) bash $(srcdir)/tests/check/packages.sh $(PACKAGES); \
		rc=$$?; test $$rc = 0 || test $$rc = 77
